"""Dates as text, as GNU date(1) reads and writes them."""
