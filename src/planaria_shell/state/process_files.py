"""What scripts look at below `/proc`: the descriptors of this shell, and its processes (proc(5)).

The system knows neither: shells and their jobs are not processes of its own.
"""

from __future__ import annotations

import os
import re

from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.streams import (
    DescriptorInput,
    DescriptorOutput,
    NullStream,
    descriptor_of,
)

__all__ = [
    "descriptor_in",
    "descriptors_shown",
    "file_of",
    "is_descriptors",
    "make_directory",
    "process_exists",
]

_DESCRIPTORS = re.compile(r"/proc/(self|[0-9]+)/fd(?:/([0-9]+)?)?")
_PROCESS = re.compile(r"/proc/([0-9]+)/?")


def _is_own(shell: Interpreter, process: str) -> bool:
    """Whether this is how `/proc` names the shell, or the one whose subshell it is."""
    return process == "self" or int(process) in (shell.process_id, shell.own_process_id)


def descriptor_in(shell: Interpreter, name: str) -> int | None:
    """The number of the descriptor that a path stands for: `/dev/fd/3`, `/dev/stdin`, `/proc/$$/fd/3`."""
    if name.startswith("/proc/"):
        match = _DESCRIPTORS.fullmatch(name)
        if match is None or match[2] is None or not _is_own(shell, match[1]):
            return None
        return int(match[2])
    return descriptor_of(name)


def is_descriptors(shell: Interpreter, name: str) -> bool:
    """Whether a path is the directory of this shell's descriptors, as `/proc/$$/fd`."""
    match = _DESCRIPTORS.fullmatch(name)
    return match is not None and match[2] is None and _is_own(shell, match[1])


def descriptors_shown(shell: Interpreter, name: str) -> list[int]:
    """The descriptors in that directory; one more for a command that lists its own, which it does by one."""
    numbers = set(shell.fds)
    if name.startswith("/proc/self"):
        numbers.add(next(number for number in range(len(numbers) + 1) if number not in numbers))
    return sorted(numbers)


def file_of(shell: Interpreter, name: str) -> str | None:
    """The file that a path like `/proc/self/fd/3` leads to, which is opened anew by it; None of others."""
    if not name.startswith("/proc/"):
        return None
    number = descriptor_in(shell, name)
    return None if number is None else _path_of(shell, number)


def _path_of(shell: Interpreter, number: int) -> str | None:
    stream = shell.fds.get(number)
    if isinstance(stream, NullStream):
        return "/dev/null"
    if isinstance(stream, DescriptorInput | DescriptorOutput):
        return stream.path or None
    return None


def process_exists(shell: Interpreter, name: str) -> bool | None:
    """Whether the process is running that a path like `/proc/123` stands for; None of any other path."""
    match = _PROCESS.fullmatch(name)
    if match is None:
        return None
    number = int(match[1])
    if number in (shell.process_id, shell.own_process_id):
        return True
    job = shell.find_process(number)
    if job is None:
        return False if number in shell.remembered_statuses else None
    return job.status is None


def make_directory(shell: Interpreter, name: str, place: str) -> None:
    """Fill the directory `place` with what a command finds in the one of this shell's descriptors."""
    for number in descriptors_shown(shell, name):
        os.symlink(_path_of(shell, number) or f"pipe:[{number}]", os.path.join(place, str(number)))
