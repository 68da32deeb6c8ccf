"""A kernel that has a process of its own."""
