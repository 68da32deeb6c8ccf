"""CPython and bash, sandboxed inside your process."""
