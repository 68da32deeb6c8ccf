"""Commands about processes, users and terminals."""
