"""date: times from words, and words from times."""
