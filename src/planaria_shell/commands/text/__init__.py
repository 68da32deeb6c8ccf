"""Commands that read and write lines of text."""
