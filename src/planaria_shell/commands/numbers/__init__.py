"""Commands that compute: numbers, dates, sequences."""
