"""hexdump."""
