"""The network of sessions: one policy, requests by way of the host, secrets that never enter the sandbox."""
