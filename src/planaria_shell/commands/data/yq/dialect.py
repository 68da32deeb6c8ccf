"""Expressions of mikefarah's yq in the language of jq, and what part of a document an expression gives."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from planaria_shell.commands.data.jq.parser import parse_program
from planaria_shell.commands.data.jq.syntax import (
    Assign,
    Binary,
    Bind,
    Call,
    Constant,
    Define,
    Identity,
    Index,
    Node,
    Pipe,
)
from planaria_shell.commands.data.yq.comments import Path

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
    "first": "def first: .[0]; def first(f): [.[] | select(f)][0];",
    "any_c": "def any_c(f): any(.[]; f);",
    "all_c": "def all_c(f): all(.[]; f);",
    "to_yaml": "def to_yaml: _to_yaml;",
    "from_yaml": "def from_yaml: _from_yaml;",
    "to_csv": 'def to_csv: _separated(",");',
    "to_tsv": 'def to_tsv: _separated("\\t");',
    "to_props": "def to_props: _properties;",
    "shuffle": "def shuffle: _shuffled;",
    "envsubst": "def envsubst: _envsubst(env); def envsubst(how): _envsubst(env);",
    "sub": "def sub(a; b): gsub(a; b);",
    "pivot": "def pivot: if (.[0] | type) == \"object\" then . as $all | reduce (map(keys_unsorted[]) | "
    "reduce .[] as $k ([]; if index([$k]) then . else . + [$k] end) | .[]) as $k ({}; .[$k] = ($all | "
    "map(.[$k]))) else transpose end;",
    "_plus": 'def _plus(x): if type == "array" and (x | type) != "array" then . + [x] else . + x end;',
    "_merged": 'def _merged($b; $how): . as $a | if ($a | type) == "object" and ($b | type) == "object" then '
    "reduce ($b | keys_unsorted[]) as $k ($a; if has($k) then .[$k] = (.[$k] | _merged($b[$k]; $how)) "
    'elif $how | contains("?") then . else .[$k] = $b[$k] end) elif ($a | type) == "array" and ($b | type) '
    '== "array" and ($how | contains("+")) then $a + $b elif ($a | type) == "array" and ($b | type) == '
    '"array" and ($how | contains("d")) then reduce range(0; $b | length) as $i ($a; .[$i] = (.[$i] | '
    '_merged($b[$i]; $how))) elif ($how | contains("n")) and $a != null then $a elif $b == null then $a '
    "else $b end;",
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
COMMENTS = re.compile(r"\.\.\.\s*comments\s*=\s*\"[^\"]*\"|\.\.\.?\s+style\s*=\s*\"\"")
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
    words = _rewritten(words, texts)
    words = re.sub(r"\.([A-Za-z_]\w*(?:-\w+)+)", r'."\1"', words)
    words = re.sub(r"\b(?:documentIndex|document_index|di)\b", "$document", words)
    words = _INDEX.sub("$file", words)
    words = re.sub(r"\bfilename\b", "$name", words)
    needed = [text for name, text in _DEFINITIONS.items() if re.search(rf"(?<![.$@\w\"]){name}\b", words)]
    for place, text in enumerate(texts):
        words = words.replace(f'"\\({place})"', text, 1)
    return " ".join([*needed, words]), variables


_PATH = r'(?:\.(?:[\w-]+|"\\\(\d+\)")?(?:\[[^\[\]]*\])*)+'
_MERGE = re.compile(r"\*([+dn?]+)(?![\w=])")
_PATTERN = re.compile(r"((?:\.[\w-]+)+|\.)\s*(==|!=)\s*\"\\\((\d+)\)\"")
_TYPE = re.compile(r"\btype\s*(==|!=)\s*\"\\\((\d+)\)\"")


def _rewritten(words: str, texts: list[str]) -> str:
    """Operators that jq does not have, as calls; `texts` are those that `words` stands for by number."""

    def like(found: re.Match[str]) -> str:
        path, operator, number = found.groups()
        if not {"*", "?"} & set(texts[int(number)]):
            return found[0]
        return f'({path} | _matches("\\({number})"){"" if operator == "==" else " | not"})'

    def tagged(found: re.Match[str]) -> str:
        return found[0].replace("type", "tag", 1) if texts[int(found[2])].startswith('"!!') else found[0]

    words = _TYPE.sub(tagged, _PATTERN.sub(like, words))
    words = re.sub(r"@yamld\b", "from_yaml", re.sub(r"@yaml\b", "to_yaml", words))
    rows = r' (if (.[0]? | type) == "object" then to_\1 else @\1 end)'
    words = re.sub(r"(?<=\|)\s*@(csv|tsv)\b", rows, words)
    words = re.sub(r"@props\b", "to_props", words)
    words = re.sub(r"\bsub\(([^(),;]*(?:\([^()]*\))?[^(),;]*),", r"sub(\1;", words)
    words = re.sub(rf"({_PATH})\s+tag\s*=\s*\"\\\((\d+)\)\"", lambda m: _cast(m, texts), words)
    words = re.sub(r"\.\.\.?\s+style\s*=\s*\"\\\(\d+\)\"", ".", words)
    while found := _MERGE.search(words):
        start, stop = _operand(words, found.start(), -1), _operand(words, found.end(), 1)
        left, right = words[start : found.start()].strip(), words[found.end() : stop].strip()
        call = f"(({left}) as $left | ({right}) as $right | $left | _merged($right; "
        words = f"{words[:start]} {call}{len(texts):d}@)){words[stop:]}"
        texts.append(f'"{found[1]}"')
        words = words.replace(f"{len(texts) - 1}@", f'"\\({len(texts) - 1})"', 1)
    words = re.sub(
        rf"(^|[|(;])\s*({_PATH})\s*\+=\s*([^|;]+?)\s*(?=$|[|;])",
        r"\1 ((\3) as $added | \2 |= _plus($added)) ",
        words,
    )
    return _above(words)


def _cast(found: re.Match[str], texts: list[str]) -> str:
    """`PATH tag = "!!str"` as a conversion."""
    how = {'"!!str"': "tostring", '"!!int"': "tonumber", '"!!float"': "tonumber"}.get(texts[int(found[2])])
    return f"{found[1]} |= {how}" if how else found[0]


def _operand(words: str, at: int, step: int) -> int:
    """Where the operand ends that begins (or, backwards, ends) at a place."""
    depth = 0
    while 0 <= (place := at if step > 0 else at - 1) < len(words):
        letter = words[place]
        depth += (letter in "([{") - (letter in ")]}") if step > 0 else (letter in ")]}") - (letter in "([{")
        if depth < 0 or (not depth and (letter in "|;," or (letter == "=" and step < 0))):
            break
        at += step
    return at


def _above(words: str) -> str:
    """`EXPRESSION | path`, `| key` and `| parent`, which ask where the expression's results stand."""
    found = re.match(r"(.*)\|\s*(path|key|parent)\b(?!\()\s*(\|.*)?$", words, re.DOTALL)
    if not found or found[1].count("(") != found[1].count(")"):
        return words
    paths = f"path({_above(found[1].strip())})"
    calls = {
        "path": paths,
        "key": f"({paths} | .[-1])",
        "parent": f"(. as $root | {paths} | .[:-1] as $above | $root | getpath($above))",
    }
    return calls[found[2]] + (found[3] or "")


def kept_path(source: str) -> Path | None:
    """Where in the document the result of an expression stands; None when it is something new."""
    return _kept(parse_program(source).body or Identity())


def _kept(node: Node) -> Path | None:
    match node:
        case Define(_, rest) | Bind(body=rest):
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
