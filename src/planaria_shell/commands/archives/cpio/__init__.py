"""cpio."""
