"""Values to YAML, in block style."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from planaria.guest.shell.commands.jq.values import Literal, format_number
from planaria.guest.shell.commands.yq.reader import resolve

_PLAIN = re.compile(
    r"[^\s\-?:,\[\]{}#&*!|>'\"%@`][^\n\r\t\x00-\x1f\x7f\x85\u2028\u2029\ufeff]*|[-?:][^\s\n][^\n\r\t\x00-\x1f]*"
)


def scalar(value: Any, *, key: bool = False) -> str:
    """A scalar on one line; quoted where it would be read as something else."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Literal):
        return value.text
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    if isinstance(value, (int, float)):
        return format_number(value)
    text = str(value)
    plain = (
        _PLAIN.fullmatch(text)
        and not re.search(r":(?:\s|$)|\s#|\s$", text)
        and (isinstance(resolve(text), str) or key)
        and text not in ("---", "...", "<<", "~", "")
    )
    if plain:
        return text
    if text.isprintable() and not key and "\\" in text and "'" not in text:
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False)


def write(value: Any, width: int = 2) -> str:
    """A document without its last newline."""
    lines: list[str] = []
    _node(value, 0, width, lines, "")
    return "\n".join(lines)


def _node(value: Any, indent: int, width: int, lines: list[str], head: str) -> None:
    """Add the lines of a value; `head` is what stands before it on its first line."""
    margin = " " * indent
    if isinstance(value, dict) and value:
        first = head.endswith("- ")
        if head and not first:
            lines.append(head.rstrip())
        for key, item in value.items():
            lead = head if first else margin
            first = False
            _entry(f"{lead}{scalar(key, key=True)}:", item, indent, width, lines)
    elif isinstance(value, list) and value:
        first = head.endswith("- ")
        if head and not first:
            lines.append(head.rstrip())
        for item in value:
            lead = head if first else margin
            first = False
            _node(item, indent + width, width, lines, lead + "-" + " " * (width - 1))
    elif isinstance(value, (dict, list)):
        lines.append(head + ("{}" if isinstance(value, dict) else "[]"))
    elif (
        isinstance(value, str)
        and "\n" in value
        and re.fullmatch(r"[^\r\x00-\x08\x0b-\x1f\x7f]*", value)
        and value.strip()
    ):
        _literal(value, indent, lines, head)
    else:
        lines.append(head + scalar(value))


def _entry(head: str, value: Any, indent: int, width: int, lines: list[str]) -> None:
    if isinstance(value, (dict, list)) and value:
        lines.append(head)
        _node(value, indent + width, width, lines, "")
    else:
        _node(value, indent + width, width, lines, head + " ")


def _literal(text: str, indent: int, lines: list[str], head: str) -> None:
    body = text.rstrip("\n")
    ending = len(text) - len(body)
    chomp = "-" if ending == 0 else "" if ending == 1 else "+"
    digit = "2" if body[:1] in (" ", "\n") else ""
    margin = " " * max(indent, 2)
    lines.append(f"{head}|{digit}{chomp}")
    lines.extend(margin + line if line else "" for line in body.split("\n"))
    lines.extend([""] * (ending - 1))
