"""Loops and functions that are run often, translated to Python.

Most of a script is run by the closures of `compiler`. A loop with many iterations, or a function that
is called often, becomes a *region*: one Python function in which the shell's variables are Python variables.
Only what touches nothing but plain variables can be one: no other commands, no subshells, no substitutions.
Everything that a region takes for granted (no `set -x`, the usual IFS, variables without attributes …) is
looked at each time it is entered, and where that does not hold the closures go on as ever.

`region` decides and enters, `commands`, `words` and `numbers` write the Python source, `support` is what that
source calls.
"""
