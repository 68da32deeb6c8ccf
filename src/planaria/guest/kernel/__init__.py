"""The kernel: what runs user code, in every home of it."""
