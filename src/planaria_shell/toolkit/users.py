"""Names and numbers of users and groups; in the guest there is one user, `user` with the number 1000."""

from __future__ import annotations

import functools
import os

try:
    import grp
    import pwd
except ImportError:  # the guest has no user database
    _USERS = {0: "root", 1000: "user"}
    _HOMES = {"root": "/root", "user": "/home/user"}

    def _user(number: int) -> str | None:
        return _USERS.get(number)

    def _group(number: int) -> str | None:
        return _USERS.get(number)

    def user_number(name: str) -> int | None:
        """The number of a user, None when there is none of this name."""
        return next((number for number, known in _USERS.items() if known == name), None)

    def group_number(name: str) -> int | None:
        """The number of a group, None when there is none of this name."""
        return user_number(name)

else:

    def _user(number: int) -> str | None:
        try:
            return pwd.getpwuid(number).pw_name
        except KeyError:
            return None

    def _group(number: int) -> str | None:
        try:
            return grp.getgrgid(number).gr_name
        except KeyError:
            return None

    def user_number(name: str) -> int | None:
        """The number of a user, None when there is none of this name."""
        try:
            return pwd.getpwnam(name).pw_uid
        except KeyError:
            return None

    def group_number(name: str) -> int | None:
        """The number of a group, None when there is none of this name."""
        try:
            return grp.getgrnam(name).gr_gid
        except KeyError:
            return None


__all__ = [
    "current_group",
    "current_groups",
    "current_user",
    "group_name",
    "group_number",
    "owner",
    "user_name",
    "user_number",
]

_GUEST_NUMBER = 1000


def current_user() -> int:
    """The number of the user who runs the shell."""
    return os.geteuid() if hasattr(os, "geteuid") else _GUEST_NUMBER


def current_group() -> int:
    """The number of this user's group."""
    return os.getegid() if hasattr(os, "getegid") else _GUEST_NUMBER


def current_groups() -> list[int]:
    """The numbers of all groups of this user, the primary one first."""
    first = current_group()
    others = os.getgroups() if hasattr(os, "getgroups") else []
    return [first, *(number for number in others if number != first)]


def owner(status: os.stat_result) -> tuple[int, int]:
    """User and group of a file; where the system keeps none (all zero in the guest) it is the user's own."""
    if not hasattr(os, "geteuid"):
        return _GUEST_NUMBER, _GUEST_NUMBER
    return status.st_uid, status.st_gid


@functools.cache
def user_name(number: int) -> str | None:
    """A user's name, None when the number has none."""
    return _user(number)


@functools.cache
def group_name(number: int) -> str | None:
    """A group's name, None when the number has none."""
    return _group(number)
