"""Syntax trees to closures."""
