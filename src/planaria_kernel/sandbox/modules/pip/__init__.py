"""`python -m pip`: what it installs, the session's `deps` do. The real one needs processes and sockets."""
