"""Expansion of words: parameters, braces, patterns, pathnames, fields."""
