"""Names of files: the working directory, tildes, patterns."""

# mypy: disable-error-code="misc"
# The methods here are a part of `Shell` and are only ever called on one, which is what `self: Shell` says.

from __future__ import annotations

from typing import TYPE_CHECKING

from planaria_shell.expand.fields import MAGIC, MAGIC_EXTENDED
from planaria_shell.expand.globbing import GlobOptions, glob
from planaria_shell.expand.patterns import compile_pattern
from planaria_shell.run.streams import flush_all
from planaria_shell.run.variable import ShellError

if TYPE_CHECKING:
    from planaria_shell.run.shell import Shell

__all__ = ["Pathnames"]


class Pathnames:
    """How a shell makes names of files out of words."""

    def path(self: Shell, name: str) -> str:
        """`name` made absolute with the shell's working directory."""
        if name.startswith("/"):
            return name
        return f"/{name}" if self.cwd == "/" else f"{self.cwd}/{name}"

    def home_of(self: Shell, name: str) -> str:
        """What `~name` stands for."""
        if not name:
            home = self.variables.get("HOME")
            return home if home is not None else "/root"
        if name == "+":
            return self.cwd
        if name == "-":
            return self.variables.get("OLDPWD") or "~-"
        if name.lstrip("+-").isdecimal():
            stack = [self.cwd, *self.directories]
            place = int(name.lstrip("+-"))
            if place < len(stack):
                return stack[-1 - place if name[0] == "-" else place]
        if name == "root":
            return "/root"
        return "~" + name

    def _glob_options(self: Shell) -> GlobOptions:
        shopts = self.shopts
        return GlobOptions(
            extglob="extglob" in shopts,
            dotglob="dotglob" in shopts,
            globstar="globstar" in shopts,
            nocaseglob="nocaseglob" in shopts,
            skip_dots="globskipdots" in shopts,
        )

    def glob_into(self: Shell, pattern: str, text: str, result: list[str]) -> None:
        """Add the names that match, or what stands for none (by nullglob and failglob)."""
        flush_all()
        found = glob(pattern, self.cwd, self._glob_options())
        ignored = self.variables.get("GLOBIGNORE")
        if ignored:
            patterns = [compile_pattern(one, True) for one in ignored.split(":")]
            found = [name for name in found if not any(one.fullmatch(name) for one in patterns)]
            found = [name for name in found if name.rpartition("/")[2] not in (".", "..")]
        if found:
            result.extend(found)
        elif "failglob" in self.shopts:
            raise ShellError(f"no match: {text}")
        elif "nullglob" not in self.shopts:
            result.append(text)

    def glob_fields(self: Shell, fields: list[str]) -> list[str]:
        """Pathname expansion of fields that came from an unquoted expansion."""
        result: list[str] = []
        extglob = "extglob" in self.shopts
        for field in fields:
            if (MAGIC_EXTENDED if extglob else MAGIC).search(field):
                self.glob_into(field, field, result)
            else:
                result.append(field)
        return result
