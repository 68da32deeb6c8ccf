"""The shell of this session, for what runs commands in it."""

from __future__ import annotations

from typing import Protocol

from planaria_shell.shell import Shell

__all__ = ["ShellOwner", "set_owner", "shell"]


class ShellOwner(Protocol):
    """What has the session's shell, which may be replaced by another."""

    shell: Shell


_owner: ShellOwner | None = None


def set_owner(owner: ShellOwner) -> None:
    """Make the shell of `owner` that of the session."""
    global _owner
    _owner = owner


def shell() -> Shell:
    """The shell of this sandbox. Raises LookupError where there is none: outside of one."""
    if _owner is None:
        raise LookupError("this interpreter has no shell of a session")
    return _owner.shell
