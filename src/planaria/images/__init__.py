"""Images that users build: from modules, packages, files and code, or from a session."""
