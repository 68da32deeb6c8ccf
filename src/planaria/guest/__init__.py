"""Code that runs inside the sandbox: plain Python, the standard library only."""
