"""What tools may know of the host's environment."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Final

from planaria.errors import ToolCallError

__all__ = ["ToolEnvironment"]

#: What programs need to find their files and speak the user's language; none of it is a secret.
_ALWAYS: Final = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP"),
        *("SYSTEMROOT", "COMSPEC", "PATHEXT", "USERPROFILE"),  # Windows
    }
)
_LOCALE: Final = "LC_"
_REFERENCE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")


class ToolEnvironment:
    """The variables that definitions of tools may refer to as `${NAME}`, and what programs are started with.

    Programs get `PATH`, `HOME`, the locale and a few others of that kind. `allow` names the variables of the
    host that definitions may refer to besides; `values` gives some that the host need not have.
    """

    def __init__(self, allow: Iterable[str] = (), values: Mapping[str, str] | None = None) -> None:
        if isinstance(allow, str):
            raise TypeError(f"ToolEnvironment(allow={allow!r}): expected a list of names")
        self._allowed = frozenset(allow)
        self._values = dict(values or {})

    def base(self) -> dict[str, str]:
        """What every program is started with."""
        return {
            name: value for name, value in os.environ.items() if name in _ALWAYS or name.startswith(_LOCALE)
        }

    def substitute(self, text: str, extra: Mapping[str, str] | None = None) -> str:
        """The text with each `${NAME}` replaced, and `${NAME:-instead}` also when it is not set.

        `extra` are variables for this text only. Raises ToolCallError when a name is not allowed or not set.
        """
        known = {**self._values, **(extra or {})}

        def value(found: re.Match[str]) -> str:
            name, default = found["name"], found["default"]
            if name in known:
                return known[name]
            allowed = name in self._allowed or name in _ALWAYS or name.startswith(_LOCALE)
            if allowed and name in os.environ:
                return os.environ[name]
            if default is not None:
                return str(default)
            if allowed:
                raise ToolCallError(f"${{{name}}} is not set in the environment of the host")
            raise ToolCallError(
                f"${{{name}}} is not among the variables that tools may see; "
                f"allow it with ToolEnvironment(allow=[{name!r}])"
            )

        return _REFERENCE.sub(value, text)

    def substitute_all(
        self, values: Mapping[str, str], extra: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """`substitute` for each value of a mapping."""
        return {name: self.substitute(value, extra) for name, value in values.items()}
