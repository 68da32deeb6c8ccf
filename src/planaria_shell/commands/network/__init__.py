"""Clients of HTTP: they use the sockets that Python code has, and so the same policy of the host."""
