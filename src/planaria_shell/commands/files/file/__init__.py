"""file: what kind a file is."""
