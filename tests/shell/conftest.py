"""What all tests of the shell need."""

from __future__ import annotations

from planaria_shell.shell import Shell

# The first shell of a process raises Python's recursion limit. Hypothesis warns, which is an error here, when
# that happens in the middle of a test.
Shell(env={})
