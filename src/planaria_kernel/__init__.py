"""The kernel: what runs user code, in every executor."""
