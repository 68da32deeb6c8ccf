"""Running: the shell's state, streams, jobs, traps and limits."""
