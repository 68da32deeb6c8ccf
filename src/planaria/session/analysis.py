"""What a script names, found without running it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ScriptAnalysis"]


@dataclass(frozen=True, slots=True)
class ScriptAnalysis:
    """The names in a script for the shell, each once, in the order of appearance: for approval prompts.

    It lists what the text contains. What a command does with its arguments, and what only running the script
    can show (see `dynamic`), is not in it. It is not a security check: the sandbox is.
    """

    commands: list[str]
    """Commands called by a name that stands in the script, also by `env`, `timeout`, `xargs` and their like;
    builtins too, functions of the script not."""
    functions: list[str]
    """Functions that the script defines."""
    reads: list[str]
    """Files that redirections read."""
    writes: list[str]
    """Files that redirections write."""
    paths: list[str]
    """Arguments of commands that are files, or look like one: they hold a slash or have an extension."""
    variables: list[str]
    """Variables that are expanded."""
    assigned: list[str]
    """Variables that are set."""
    dynamic: bool
    """Whether something runs that only running the script can tell: a command whose name is expanded, `eval`,
    a sourced file, another shell."""
    error: str
    """The message of a syntax error, or nothing; what stands before it is analysed."""
