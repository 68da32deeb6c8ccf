"""Places where bytes are kept: documents at paths, read and written in transactions."""
