"""The state of a shell, and the interface by which its code reaches the operations on it."""
