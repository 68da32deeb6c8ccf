"""E2B's protocol: its control plane, the daemon of its sandboxes, and its code interpreter, for its SDKs."""
