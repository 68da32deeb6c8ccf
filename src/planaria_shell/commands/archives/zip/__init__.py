"""zip and unzip."""
