"""Expressions of mikefarah's yq in the language of jq, and what part of a document an expression gives."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from planaria.guest.shell.commands.jq.parser import parse_program
from planaria.guest.shell.commands.jq.syntax import (
    Assign,
    Binary,
    Call,
    Constant,
    Define,
    Identity,
    Index,
    Node,
    Pipe,
)
from planaria.guest.shell.commands.yq.comments import Path

__all__ = ["COMMENTS", "kept_path", "to_jq"]

#: Functions that jq does not have, or has with another meaning; each may use those before it.
_DEFINITIONS = {
    "tag": 'def tag: {"null": "!!null", "boolean": "!!bool", "string": "!!str", "array": "!!seq", "object": '
    '"!!map"}[type] // (if tojson | test("[.eE]") then "!!float" else "!!int" end);',
    "kind": 'def kind: if type == "array" then "seq" elif type == "object" then "map" else "scalar" end;',
    "sort_keys": 'def sort_keys(p): p |= (if type == "object" then to_entries | sort_by(.key) | from_entries '
    "else . end);",
    "with": "def with(p; f): p |= f;",
    "keys": 'def keys: if type == "object" then keys_unsorted else [range(length)] end;',
    "pick": 'def pick(names): names as $names | if type == "object" then . as $all | reduce '
    "$names[] as $name ({}; if $all | has($name) then .[$name] = $all[$name] else . end) "
    "else [.[$names[]]] end;",
    "omit": 'def omit(names): names as $names | if type == "object" then with_entries(select(.key as $key | '
    "$names | index([$key]) == null)) else [to_entries[] | select(.key as $key | $names | index([$key]) == "
    "null) | .value] end;",
    "filter": "def filter(f): map(select(f));",
    "explode": "def explode(p): .;",
    "upcase": "def upcase: ascii_upcase;",
    "downcase": "def downcase: ascii_downcase;",
    "split_doc": "def split_doc: .;",
    "to_number": "def to_number: tonumber;",
    "to_string": "def to_string: tostring;",
    "array_to_map": "def array_to_map: with_entries(select(.value != null));",
    "contains_key": "def contains_key(name): has(name);",
    "eval": "def eval(name): getpath(name | ltrimstr(\".\") | split(\".\"));",
    "line": "def line: 0;",
}  # fmt: skip
#: What takes all comments away.
COMMENTS = re.compile(r"\.\.\.\s*comments\s*=\s*\"[^\"]*\"")
_FILE = re.compile(r"\bselect\(\s*(?:fileIndex|file_index|fi)\s*==\s*(\d+)\s*\)")
_INDEX = re.compile(r"\b(?:fileIndex|file_index|fi)\b")
_TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*\"")


def to_jq(expression: str, *, together: bool, load: Callable[[str], Any]) -> tuple[str, dict[str, Any]]:
    """The expression in jq's words, and the variables that it needs.

    With `together` it is for an array of arrays, `$documents`: the documents of each file. `load(name)` reads
    a file that the expression names. Raises what `load` raises.
    """
    variables: dict[str, Any] = {}

    def loaded(found: re.Match[str]) -> str:
        name = f"loaded{len(variables)}"
        variables[name] = load(found[1])
        return f"${name}"

    expression = re.sub(r"\bload\(\s*\"([^\"]*)\"\s*\)", loaded, expression)
    if together:
        expression = _FILE.sub(r"($documents[\1][]?)", expression)
        expression = re.sub(
            r"^\s*\.\s+as\s+(\$\w+)\s+ireduce\s*\(", r"reduce $documents[][] as \1 (", expression
        )
        if "$documents" not in expression:
            expression = f"$documents[][] | ({expression})"
    texts: list[str] = []

    def hide(found: re.Match[str]) -> str:
        texts.append(found[0])
        return f'"\\({len(texts) - 1})"'

    # Texts are left alone.
    words = _TEXT.sub(hide, expression)
    words = re.sub(r"\benv\(\s*([A-Za-z_]\w*)\s*\)", r"(env.\1 | (fromjson? // .))", words)
    words = re.sub(r"\bstrenv\(\s*([A-Za-z_]\w*)\s*\)", r"env.\1", words)
    words = re.sub(r"\bto_json(?:\(\d*\))?|\btojson\(\d*\)|@json_pretty\b", "tojson", words)
    words = re.sub(r"\bfrom_json\b|@jsond\b", "fromjson", words)
    words = COMMENTS.sub(".", words)
    words = re.sub(r"\bireduce\b", "reduce", words)
    words = re.sub(r"(\.[\w.\[\]]*)\s+as\s+(\$\w+)\s+reduce\s*\(", r"reduce \1 as \2 (", words)
    words = re.sub(r"\*\s*\+|\*d\b|\*n\b", "*", words)
    words = re.sub(r"\.([A-Za-z_]\w*(?:-\w+)+)", r'."\1"', words)
    words = re.sub(r"\b(?:documentIndex|document_index|di)\b", "$document", words)
    words = _INDEX.sub("$file", words)
    words = re.sub(r"\bfilename\b", "$name", words)
    needed = [text for name, text in _DEFINITIONS.items() if re.search(rf"(?<![.$@\w\"]){name}\b", words)]
    for place, text in enumerate(texts):
        words = words.replace(f'"\\({place})"', text, 1)
    return " ".join([*needed, words]), variables


def kept_path(source: str) -> Path | None:
    """Where in the document the result of an expression stands; None when it is something new."""
    return _kept(parse_program(source).body or Identity())


def _kept(node: Node) -> Path | None:
    match node:
        case Define(_, rest):
            return _kept(rest)
        case Identity() | Assign():
            return ()
        case Index(target, Constant(str() | int() as key)):
            above = _kept(target)
            return None if above is None or isinstance(key, bool) else (*above, key)
        case Pipe(left, right):
            above, below = _kept(left), _kept(right)
            return None if above is None or below is None else (*above, *below)
        case Binary("*" | "+", left, _):
            return _kept(left)
        case Call(
            "del" | "select" | "with_entries" | "sort_keys" | "with" | "explode" | "delpaths" | "setpath"
        ):
            return ()
    return None
