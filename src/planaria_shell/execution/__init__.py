"""Carrying out what compiled code asks for: commands, jobs, subshells, traps, source text, messages."""
