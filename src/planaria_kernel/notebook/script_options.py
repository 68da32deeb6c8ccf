"""The options of `%%bash`, `%%script` and their like, with IPython's names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planaria_kernel.notebook.usage import UsageError

__all__ = ["ScriptOptions"]


@dataclass(frozen=True, slots=True)
class ScriptOptions:
    """The program that runs a cell, and what becomes of its output."""

    argv: list[str]
    variables: dict[str, str]
    """The variables that take what is printed, by `out` and `err`."""
    raises: bool
    """Whether a status other than 0 is an error."""

    @classmethod
    def of(cls, name: str, words: Sequence[str]) -> ScriptOptions:
        """From the words after the name of the magic: --out NAME, --err NAME and --no-raise-error come
        first. Raises UsageError.
        """
        rest = list(words)
        variables: dict[str, str] = {}
        raises = True
        while rest and rest[0].startswith("--"):
            option, equals, value = rest.pop(0).partition("=")
            if option == "--no-raise-error":
                raises = False
            elif option in ("--out", "--err"):
                if not equals:
                    value = rest.pop(0) if rest else ""
                if not value.isidentifier():
                    raise UsageError(f"%%{name} {option} needs the name of a variable, not {value!r}")
                variables[option.removeprefix("--")] = value
            elif option in ("--bg", "--proc"):
                raise UsageError(f"%%{name} {option}: a cell is not run in the background")
            else:
                rest.insert(0, f"{option}{equals}{value}")
                break
        argv = rest if name == "script" else [name, *rest]
        if not argv:
            raise UsageError("usage: %%script PROGRAM [ARGUMENTS]")
        return cls(argv, variables, raises)
