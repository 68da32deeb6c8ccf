"""jq beside the manual and, where there is one, the real jq."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import repeat

import pytest
from harness import BytesInput, NativeProcess, ours
from hypothesis import given, settings
from hypothesis import strategies as st

from planaria_shell.commands.data.jq import json_reader
from planaria_shell.commands.data.jq.json_writer import to_json
from planaria_shell.commands.data.jq.paths import delete_paths, get_path, set_path


def run(program: str, text: str = "null", *options: str) -> str:
    return ours(["jq", "-c", *options, program], text.encode()).stdout.decode()


@pytest.mark.parametrize(
    ("program", "text", "expected"),
    [
        (".a.b", '{"a":{"b":1}}', "1\n"),
        (".[1:]", "[1,2,3]", "[2,3]\n"),
        ('{(.k):1,"x\\(1)":2}', '{"k":"v"}', '{"v":1,"x1":2}\n'),
        ("[.[] | select(. > 1)]", "[1,2,3]", "[2,3]\n"),
        ("reduce .[] as [$i,$j] (0; . + $i * $j)", "[[1,2],[3,4]]", "14\n"),
        ("[foreach .[] as $x (0; . + $x; [$x,.])]", "[1,2]", "[[1,1],[2,3]]\n"),
        ("[limit(3; repeat(.*2))]", "1", "[1,2,4]\n"),
        ("[.[] as [$a] ?// $a | $a]", "[[1],2]", "[1,2]\n"),
        ("[label $out | 1, break $out, 2]", "null", "[1]\n"),
        ('try error("x") catch .', "null", '"x"\n'),
        ("def f(g): g | g; f(. * .)", "2", "16\n"),
        ("def fac: if . <= 1 then 1 else . * (. - 1 | fac) end; fac", "10", "3628800\n"),
        ("def f: if . >= 100000 then . else . + 1 | f end; f", "0", "100000\n"),
        ("(.. | numbers) |= . + 1", '{"a":[1,{"b":2}]}', '{"a":[2,{"b":3}]}\n'),
        ("del(.[0,2])", "[1,2,3]", "[2]\n"),
        ("del(.[] | select(. > 1))", "[1,2,3]", "[1]\n"),
        ("to_entries", '{"a":1}', '[{"key":"a","value":1}]\n'),
        ("with_entries(.value += 1)", '{"a":1}', '{"a":2}\n'),
        ("[paths]", '{"a":[1]}', '[["a"],["a",0]]\n'),
        ("[tostream]", '{"a":[1]}', '[[["a",0],1],[["a",0]],[["a"]]]\n'),
        ("fromstream(tostream)", '{"a":[1,{}]}', '{"a":[1,{}]}\n'),
        ("group_by(.a) | map(length)", '[{"a":1},{"a":2},{"a":1}]', "[2,1]\n"),
        ("sort", '[{},[],"a",1,true,false,null]', '[null,false,true,1,"a",[],{}]\n'),
        ("min_by(.a), max_by(.a)", '[{"a":2},{"a":1}]', '{"a":1}\n{"a":2}\n'),
        ('[match("(?<l>[a-z])"; "g").captures[0].string]', '"a1b"', '["a","b"]\n'),
        ('gsub("(?<x>[0-9])"; "<\\(.x)>")', '"a1b2"', '"a<1>b<2>"\n'),
        ("@csv, @tsv, @sh", '[1,"a\\"b"]', '"1,\\"a\\"\\"b\\""\n"1\\ta\\"b"\n"1 \'a\\"b\'"\n'),
        ("@base64 | ., @base64d", '"é"', '"w6k="\n"é"\n'),
        ("todate", "1425599621", '"2015-03-05T23:53:41Z"\n'),
        ('strptime("%Y-%m-%d") | mktime', '"2024-02-29"', "1709164800\n"),
        ("pick(.a.b)", '{"a":{"b":1,"c":2}}', '{"a":{"b":1}}\n'),
        (".a //= 3 | .b += 1", '{"b":1}', '{"b":2,"a":3}\n'),
        ("[.[] | (1 / .)?]", "[1,0]", "[1]\n"),
        ('ltrimstr("a"), trim', '"a "', '" "\n"a"\n'),
        ('[splits(", *")]', '"a, b,c"', '["a","b","c"]\n'),
        ("$__loc__", "null", '{"file":"<top-level>","line":1}\n'),
        (
            '[.[] | if . == 1 then "one" elif . == 2 then "two" else "more" end]',
            "[1,2,3]",
            '["one","two","more"]\n',
        ),
    ],
)
def test_program(program: str, text: str, expected: str) -> None:
    """A program gives what the jq manual says."""
    assert run(program, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.0", "1.0"),
        ("1.50", "1.50"),
        ("100000000000000000000", "100000000000000000000"),
        ("1e1000", "1E+1000"),
        ("-0", "-0"),
        ("nan", "null"),
    ],
)
def test_numbers_keep_their_spelling(text: str, expected: str) -> None:
    """A number that nothing computes with prints as jq 1.7 spells it."""
    assert run(".", text) == expected + "\n"


@pytest.mark.parametrize(
    ("number", "expected"),
    [("1e17", "100000000000000000"), ("0.1 + 0.2", "0.30000000000000004"), ("1e-5", "1e-05"), ("3.0", "3")],
)
def test_computed_numbers_print_as_doubles(number: str, expected: str) -> None:
    """A computed number prints with the shortest digits that read back."""
    printed = run(f"({number}) + 0", "null")
    assert float(printed) == float(expected)


@pytest.mark.parametrize(
    ("arguments", "text", "status", "error"),
    [
        ([".a"], "[1]", 5, 'jq: error (at <stdin>:0): Cannot index array with string "a"'),
        (["."], "{", 5, "jq: parse error: Unfinished JSON term"),
        (["."], "[1,]", 5, "Expected another array element at line 1, column 4"),
        (
            ["."],
            '["a\tb"]',
            5,
            "Invalid string: control characters from U+0000 through U+001F must be escaped",
        ),
        ([".["], "null", 3, "jq: 1 compile error"),
        (["nosuch"], "null", 3, "jq: error: nosuch/0 is not defined at <top-level>, line 1:"),
        (["-e", "."], "null", 1, ""),
        (["-e", "empty"], "1", 4, ""),
        (["halt_error"], '"bye\\n"', 5, "bye"),
        (["-z"], "", 2, "Unknown option"),
        ([".", "/nope"], "", 2, "Could not open /nope: No such file or directory"),
    ],
)
def test_failure(arguments: list[str], text: str, status: int, error: str) -> None:
    """Failures end with jq's status and message."""
    found = ours(["jq", *arguments], text.encode())
    assert found.status == status
    assert error in found.stderr.decode()


def test_reduce_changes_nothing_that_others_see() -> None:
    """Updates in place inside `reduce` do not show in values that were taken before."""
    assert run("[1] as $a | reduce range(2) as $i ({x: $a, y: $a}; .x += [$i] | .y = .x | .x += [9])") == (
        '{"x":[1,0,9,1,9],"y":[1,0,9,1]}\n'
    )


def test_endless_input_is_read_as_it_comes() -> None:
    """jq writes results while its input goes on, and stops when its reader does."""

    class Endless(BytesInput):
        def chunks(self) -> Iterator[bytes]:
            return repeat(b'{"a":1}\n' * 1000)

    process = NativeProcess(["jq", ".a"], stdin=Endless(b""), limit=100_000)
    assert process.execute() == 141
    assert process.stdout.value().startswith(b"1\n1\n")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_json_round_trip(value: object) -> None:
    """What is written reads back as the same value, by our scanner and by Python's."""
    text = to_json(value)
    assert json.loads(text) == value
    assert json_reader.parse(text) == value
    scanner = json_reader.Scanner()
    assert [*scanner.feed(text), *scanner.finish()] == [value]


@given(st.lists(json_values, max_size=4), st.integers(1, 7))
@settings(max_examples=50)
def test_values_cut_anywhere(values: list[object], size: int) -> None:
    """Values one after the other are found wherever the chunks are cut."""
    data = "\n".join(map(to_json, values)).encode("utf-8", "replace")
    chunks = iter([data[place : place + size] for place in range(0, len(data), size)])
    assert [to_json(value) for value in json_reader.Reader().values(chunks)] == [
        to_json(value) for value in values
    ]


@given(st.dictionaries(st.text(max_size=3), st.lists(st.integers(), min_size=1), min_size=1), json_values)
def test_setpath_laws(value: dict[str, list[int]], new: object) -> None:
    """What is set is what is got, the original does not change, and deleting takes it away."""
    key = next(iter(value))
    before = json.dumps(value)
    changed = set_path(value, (key, 0), new)
    assert get_path(changed, (key, 0)) == new
    assert json.dumps(value) == before
    assert len(delete_paths(changed, [[key, 0]])[key]) == len(value[key]) - 1


@pytest.mark.parametrize("place", ["nan", "infinite", "-infinite"])
def test_nothing_is_deleted_where_there_is_no_place(place: str) -> None:
    """del() of an element at nan or infinity leaves the array as it is."""
    assert ours(["jq", "-c", f"del(.[{place}])"], b"[1,2,3]").stdout == b"[1,2,3]\n"
