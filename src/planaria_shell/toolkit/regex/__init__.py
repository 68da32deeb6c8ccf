"""POSIX, GNU and Perl regular expressions on Python's engine."""
