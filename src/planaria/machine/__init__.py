"""One WebAssembly instance: its memory, its host calls, its interrupt, its system interface."""
