"""What docstrings say of parameters, in the three usual styles."""

from __future__ import annotations

import inspect
import re

__all__ = ["read_docstring"]

_FIELD = re.compile(r"^:(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)$")
_OTHER_FIELD = re.compile(r"^:\w+[^:]*:")
_HEADING = re.compile(
    r"^(args|arguments|parameters|params|keyword args|keyword arguments|returns?|raises|yields?|examples?"
    r"|notes?|see also|references|warnings?|attributes)\s*:?$",
    re.IGNORECASE,
)
_PARAMETERS = re.compile(r"^(args|arguments|parameters|params|keyword args|keyword arguments)", re.IGNORECASE)
_GOOGLE = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY = re.compile(r"^\*{0,2}(\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")


def read_docstring(text: str | None) -> tuple[str, dict[str, str]]:
    """The description without its sections, and what is said of each parameter.

    Understands sections named `Args:` with indented `name: text`, underlined `Parameters` with `name : type`
    and indented text, and fields `:param name: text`.
    """
    lines = inspect.cleandoc(text or "").splitlines()
    description: list[str] = []
    parameters: dict[str, list[str]] = {}
    section = ""
    current: list[str] | None = None
    entry_indent = number = 0
    while number < len(lines):
        line = lines[number]
        following = lines[number + 1] if number + 1 < len(lines) else ""
        number += 1
        if found := _FIELD.match(line):
            section, current = "field", parameters.setdefault(found[1], [])
            current.append(found[2])
        elif _OTHER_FIELD.match(line):
            section, current = "field", None
        elif _HEADING.match(line) and re.match(r"^-{3,}\s*$", following):
            section, current = ("numpy" if _PARAMETERS.match(line) else "other"), None
            number += 1
        elif _HEADING.match(line) and line.rstrip().endswith(":"):
            section, current = ("google" if _PARAMETERS.match(line) else "other"), None
        elif not section:
            description.append(line)
        elif not line.strip():
            continue
        elif not line[0].isspace() and section != "numpy":
            if section in ("google", "other"):  # the section is over
                section, current = "", None
                description.append(line)
        elif section == "google":
            indent = len(line) - len(line.lstrip())
            if (entry := _GOOGLE.match(line.strip())) and (current is None or indent <= entry_indent):
                current, entry_indent = parameters.setdefault(entry[1], []), indent
                current.append(entry[2])
            elif current is not None:
                current.append(line.strip())
        elif section == "numpy" and not line[0].isspace():
            current = []
            if names := _NUMPY.match(line):
                for name in re.findall(r"\w+", names[1]):
                    parameters[name] = current
        elif current is not None:
            current.append(line.strip())
    return "\n".join(description).strip(), {name: " ".join(said).strip() for name, said in parameters.items()}
