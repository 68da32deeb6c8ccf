"""The network of the sandbox: sockets whose other end is on the host, which decides what they may reach."""
