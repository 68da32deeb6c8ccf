"""One WebAssembly instance: its memory, its door, its interrupt, its system interface."""
