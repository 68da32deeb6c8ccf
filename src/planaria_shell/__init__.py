"""A bash and its commands, in Python over the standard library."""
