"""Names of files: the working directory, tildes, patterns."""

from __future__ import annotations

from collections.abc import Callable

from planaria_shell.errors import ShellError
from planaria_shell.expand.globbing import GlobOptions, glob
from planaria_shell.expand.patterns import compile_pattern, has_magic
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.process_files import descriptors_shown, is_descriptors
from planaria_shell.state.streams import flush_all

__all__ = ["glob_fields", "glob_into", "glob_options", "home_of"]


def home_of(shell: Interpreter, name: str) -> str:
    """What `~name` stands for."""
    if not name:
        home = shell.variables.get("HOME")
        return home if home is not None else "/root"
    if name == "+":
        return shell.cwd
    if name == "-":
        return shell.variables.get("OLDPWD") or "~-"
    if name.lstrip("+-").isdecimal():
        stack = [shell.cwd, *shell.directories]
        place = int(name.lstrip("+-"))
        if place < len(stack):
            return stack[-1 - place if name[0] == "-" else place]
    if name == "root":
        return "/root"
    return "~" + name


def glob_options(shell: Interpreter) -> GlobOptions:
    """What the options of the shell say about patterns of file names."""
    shopts = shell.shopts
    return GlobOptions(
        extglob="extglob" in shopts,
        dotglob="dotglob" in shopts,
        globstar="globstar" in shopts,
        nocaseglob="nocaseglob" in shopts,
        skip_dots="globskipdots" in shopts,
        bytewise=shell.bytewise,
    )


def glob_into(shell: Interpreter, pattern: str, text: str, result: list[str]) -> None:
    """Add the names that match, or what stands for none (by nullglob and failglob)."""
    flush_all()
    directory, slash, last = pattern.rpartition("/")
    if directory.startswith("/proc/") and is_descriptors(shell, directory):
        matches = compile_pattern(last, True).fullmatch
        numbers = sorted(str(number) for number in descriptors_shown(shell, directory))
        found = [directory + slash + number for number in numbers if matches(number)]
    else:
        found = glob(pattern, shell.cwd, glob_options(shell))
    ignored = shell.variables.get("GLOBIGNORE")
    if ignored:
        patterns = [_by_components(one) for one in ignored.split(":")]
        found = [name for name in found if not any(matches(name) for matches in patterns)]
        found = [name for name in found if name.rpartition("/")[2] not in (".", "..")]
    if found:
        result.extend(found)
    elif "failglob" in shell.shopts:
        raise ShellError(f"no match: {text}")
    elif "nullglob" not in shell.shopts:
        result.append(text)


def _by_components(pattern: str) -> Callable[[str], bool]:
    """Whether a path matches a pattern in which only a slash, and a star at its end, stand for slashes."""
    expressions = [compile_pattern(one, True) for one in pattern.split("/")]
    most = len(expressions) - 1 if pattern.endswith("*") else -1

    def matches(path: str) -> bool:
        names = path.split("/", most)
        return len(names) == len(expressions) and all(
            expression.fullmatch(name) for expression, name in zip(expressions, names, strict=True)
        )

    return matches


def glob_fields(shell: Interpreter, fields: list[str]) -> list[str]:
    """Pathname expansion of fields that came from an unquoted expansion."""
    result: list[str] = []
    extglob = "extglob" in shell.shopts
    for field in fields:
        if has_magic(field, extglob):
            glob_into(shell, field, field, result)
        else:
            result.append(field)
    return result
