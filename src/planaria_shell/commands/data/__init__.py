"""Commands about structured and binary data."""
