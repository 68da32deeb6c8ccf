"""YAML in and out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from example_counts import examples
from harness import ours
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from planaria_shell.commands.data.yq.events import events
from planaria_shell.commands.data.yq.reader import YamlError, read_documents
from planaria_shell.commands.data.yq.writer import write


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: [x, {y: z}]\n", [{"a": 1, "b": ["x", {"y": "z"}]}]),
        ("- a\n- - b\n  - c\n-\n  d: e\n", [["a", ["b", "c"], {"d": "e"}]]),
        ("k:\n- 1\n- 2\n", [{"k": [1, 2]}]),
        ("a: |\n  x\n   y\n\nb: >-\n  p\n  q\n", [{"a": "x\n y\n", "b": "p q"}]),
        ("x: &a {k: 1}\ny:\n  <<: *a\n  m: 2\n", [{"x": {"k": 1}, "y": {"k": 1, "m": 2}}]),
        ("a: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
        ("a: 'it''s' # c\nb: \"x\\ty\"\n", [{"a": "it's", "b": "x\ty"}]),
        ("a: ~\nb: yes\nc: 0x1F\nd: 2024-01-01\n", [{"a": None, "b": "yes", "c": 31, "d": "2024-01-01"}]),
        ("u: http://x/y#z\n", [{"u": "http://x/y#z"}]),
        ("a: one\n  two\n", [{"a": "one two"}]),
        ("a: 'it''s\n\n  ok'\n", [{"a": "it's\nok"}]),
        ("- 'a''b\n  c'\n", [["a'b c"]]),
        ("? a\n: 1\n", [{"a": 1}]),
        ("- ? x\n  : y\n", [[{"x": "y"}]]),
        ("? [1, a]\n: b\n", [{'[1,"a"]': "b"}]),
        ("a: !!str 1.0\nb: ! 2\nc: !!int '3'\n", [{"a": "1.0", "b": "2", "c": 3}]),
        ("a: |+\n  x\n\n", [{"a": "x\n\n"}]),
        ("# only\n---\na: 1\n...\n---\n- b", [{"a": 1}, ["b"]]),
    ],
)
def test_read(text: str, expected: list[object]) -> None:
    """YAML 1.2 with the core schema is read."""
    assert read_documents(text) == expected


def test_json_output() -> None:
    """`-o json -I 4` writes JSON with four spaces."""
    found = ours(["yq", "--output-format=json", "--indent=4"], b"nested:\n  ok: true\n")
    assert found.stdout == b'{\n    "nested": {\n        "ok": true\n    }\n}\n'


def test_in_place(tmp_path: Path) -> None:
    """`-i` writes the result back to the file."""
    (tmp_path / "f.yml").write_text("a: 1\nb: x\n")
    assert ours(["yq", "-i", ".a = 2", "f.yml"], cwd=tmp_path).status == 0
    assert (tmp_path / "f.yml").read_text() == "a: 2\nb: x\n"


def test_error_names_the_line() -> None:
    """Text that is not YAML fails with status 1 and the line."""
    found = ours(["yq", "."], b"a: 1\n b: 2\n")
    assert found.status == 1
    assert b"line 2" in found.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a: - b\n", b"Error: bad file '-': yaml: line 1: "),
        (b"a: [1\nb: 2\n", b"Error: bad file '-': yaml: line 2: did not find expected ',' or ']'"),
        (b"a: 1\nb: *x\n", b"Error: bad file '-': yaml: line 2: unknown anchor 'x' referenced"),
        (b"a: &a [*a]\n", b"Error: bad file '-': yaml: line 1: unknown anchor 'a' referenced"),
        (b"a: \x01\n", b"Error: bad file '-': yaml: control characters are not allowed"),
    ],
)
def test_what_is_not_yaml_is_refused(text: bytes, message: bytes) -> None:
    """An invalid document is refused with the line where there is one, and status 1."""
    found = ours(["yq", "."], text)
    assert (found.status, found.stdout) == (1, b"")
    assert found.stderr.startswith(message)


_FRAGMENTS = st.lists(
    st.sampled_from(
        ["a", "b", ": ", "- ", "? ", ":", "\n", "\n  ", "\n    ", "'", "''", '"', "[", "]", "{", "}", ", ", "&x ", "*x",
         " #c", "|\n  ", ">-\n  ", "---\n", "...\n"]
    ),
    max_size=14,
).map("".join)  # fmt: skip


def _as_strings(value: object) -> object:
    """A value as PyYAML's BaseLoader has it: the empty string for nothing."""
    if isinstance(value, dict):
        return {key: _as_strings(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_strings(item) for item in value]
    return "" if value is None else value


@settings(max_examples=examples(400), suppress_health_check=[HealthCheck.too_slow])
@given(_FRAGMENTS)
def test_documents_have_the_structure_that_pyyaml_gives(text: str) -> None:
    """A string is read as PyYAML reads it, and refused where PyYAML refuses it."""
    try:
        expected = list(yaml.load_all(text + "\n", Loader=yaml.BaseLoader))
    except yaml.constructor.ConstructorError:
        assume(False)  # a collection as a key, which Python's dictionaries do not take
    except yaml.YAMLError:
        with pytest.raises(YamlError):
            read_documents(text)
        return
    assert [_as_strings(value) for value in read_documents(text)] == expected


_OF_STRINGS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab \n#:-?'\"[]{},&*!|>%@`\\é\t"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab #:", min_size=1), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(_OF_STRINGS, st.sampled_from([None, "'", '"']), st.booleans(), st.integers(10, 80))
def test_what_pyyaml_writes_is_read(value: object, style: str | None, flow: bool, width: int) -> None:
    """A document that PyYAML writes, in any style and folded at any width, is read as the value it was."""
    text = yaml.safe_dump(
        value, default_style=style, default_flow_style=flow, width=width, allow_unicode=True
    )
    assert read_documents(text) == [value]


_ATOMS = (
    *(
        "a",
        "bc",
        "é",
        "\xa0",
        " ",
        "  ",
        "\t",
        "\n",
        "\n ",
        "\n   ",
        "\r\n",
        "\r",
        "\x85",
        "\u2028",
        "\ufeff",
    ),
    *("-", "- ", ":", ": ", "#", " # c", "?", "? ", "[", "]", "{", "}", ",", ", ", "'q'", '"z"', "'", '"'),
    *(
        "|\n",
        "> \n",
        "&a ",
        "*a",
        "!t ",
        "!!str ",
        "---\n",
        "--- ",
        "...\n",
        "%YAML 1.2\n",
        "k: v\n",
        "k:\n",
        'a.b-1: "q" # c\n',
        "k: 'q'\n",
        "- k: v w # c\n",
        "  k: v\n",
        "k: v",
        "h://x:8/y#z",
    ),
)


def _events(parse: Callable[[], Iterable[Any]]) -> list[tuple[str, ...]]:
    """What there is to see of events, and the error that ends them."""
    found: list[tuple[str, ...]] = []
    try:
        for event in parse():
            style = str(getattr(event, "style", None))
            found.append((repr(event), style, str(event.start_mark), str(event.end_mark)))
    except yaml.YAMLError as error:
        found.append((str(error),))
    return found


@settings(max_examples=examples(300))
@given(st.lists(st.sampled_from(_ATOMS), max_size=25).map("".join))
def test_events_are_those_of_pyyaml(text: str) -> None:
    """Whatever the text, the events, their places and the error are those of PyYAML's own scanner."""
    assert _events(lambda: events(text)) == _events(lambda: yaml.parse(text, Loader=yaml.BaseLoader))


def test_without_pyyaml_the_error_says_how_to_install_it() -> None:
    """Where PyYAML is not installed, yq fails with the command that installs it."""
    code = (
        "import sys; sys.modules['yaml'] = None\n"
        "from planaria_shell.shell import Shell; shell = Shell()\n"
        "print(shell.run('yq . <<< a:'), flush=True)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert "yaml: PyYAML is not installed; run: pip install PyYAML" in done.stderr


plain_text = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Zl", "Zp")))
yaml_values = st.recursive(
    st.none() | st.booleans() | st.integers() | plain_text | st.just("a\nb\n") | st.just("x\ny"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain_text, inner, max_size=3),
    max_leaves=12,
)


@given(yaml_values)
def test_round_trip(value: object) -> None:
    """What is written reads back as the same value."""
    assert read_documents(write(value)) == [value]


CHART = """# Chart
name: "app" # the name
version: 1.0.0
# image settings
image:
  # where
  repo: 'nginx'
  ports: [80, 0x50] # both
list:
  - a # first
  # second
  - b
script: |
  echo hi
empty:
# the end
"""


def test_comments_and_notations_stay() -> None:
    """What is not changed is written as it was, with its comments."""
    assert ours(["yq", "."], CHART.encode()).stdout == CHART.encode()


@pytest.mark.parametrize(
    ("expression", "old", "new"),
    [
        ('.version = "2.0.0"', "version: 1.0.0", "version: 2.0.0"),
        ('.name = "b"', 'name: "app" # the name', 'name: "b" # the name'),
        ('.image.repo = "x"', "repo: 'nginx'", "repo: 'x'"),
        ("del(.list[0])", "  - a # first\n", ""),
        ('.list += ["z"]', "  - b\n", "  - b\n  - z\n"),
        (".image.ports[1] = 81", "  ports: [80, 0x50] # both\n", "  ports: # both\n    - 80\n    - 81\n"),
        ('with(.image; .tag = "t")', "# both\n", "# both\n  tag: t\n"),
        (".a-b = 1", "# the end", "a-b: 1\n# the end"),
    ],
)
def test_a_change_leaves_the_rest_as_it_was(expression: str, old: str, new: str, tmp_path: Path) -> None:
    """`-i` changes what the expression assigns and nothing else."""
    (tmp_path / "c.yml").write_text(CHART)
    assert ours(["yq", "-i", expression, "c.yml"], cwd=tmp_path).status == 0
    assert (tmp_path / "c.yml").read_text() == CHART.replace(old, new, 1)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([".image"], "# where\nrepo: 'nginx'\nports: [80, 0x50] # both\n"),
        (["keys"], "- name\n- version\n- image\n- list\n- script\n- empty\n"),
        (['.image | pick(["repo"])'], "repo: nginx\n"),
        ([".version | tag"], "!!str\n"),
        (["-P", ".image"], "repo: nginx\nports:\n  - 80\n  - 80\n"),
        (["-o=props", ".image"], "repo = nginx\nports.0 = 80\nports.1 = 80\n"),
        (["-o=csv", ".list"], "a,b\n"),
        (["-o=shell", ".image"], "repo=nginx\nports_0=80\nports_1=80\n"),
        (['... comments="" | .image'], "repo: nginx\nports:\n  - 80\n  - 80\n"),
        (["e", '.list[] | select(. == "b")'], "b\n"),
        (["sort_keys(.image) | .image"], "ports: [80, 0x50] # both\n# where\nrepo: 'nginx'\n"),
    ],
)
def test_expressions_and_formats(words: list[str], expected: str) -> None:
    """Functions of mikefarah's yq and its other formats for output are there."""
    assert ours(["yq", *words], CHART.encode()).stdout.decode() == expected


@pytest.mark.parametrize(
    "expression",
    [
        "select(fi == 0) * select(fi == 1)",
        "select(fileIndex == 0) * select(fileIndex == 1)",
        ". as $item ireduce ({}; . * $item)",
    ],
)
def test_eval_all_merges_files(expression: str, tmp_path: Path) -> None:
    """`ea` applies an expression to the documents of all files together."""
    (tmp_path / "x.yml").write_text("a: 1\nb: {x: 1}\n")
    (tmp_path / "y.yml").write_text("b:\n  y: 2\n")
    found = ours(["yq", "ea", expression, "x.yml", "y.yml"], cwd=tmp_path)
    assert found.stdout == b"a: 1\nb:\n  x: 1\n  y: 2\n"
    assert ours(["yq", '. * load("y.yml") | .b.y', "x.yml"], cwd=tmp_path).stdout == b"2\n"


DOCUMENT = """# top
a: 1 # one
b: {c: cat, d: [1, 2]}
list:
  - name: foo
    n: 1
  - name: bar
    n: 2
"""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (".b | key", "b\n"),
        (".b.c | path", "- b\n- c\n"),
        (".b.c | parent | .d[0]", "1\n"),
        ('.. | select(. == "bar") | path | join(".")', "list.1.name\n"),
        ('.list[] | select(.name == "ba*") | .n', "2\n"),
        ('.list[] | select(.name != "ba*") | .n', "1\n"),
        ('[.. | select(type == "!!int")] | length', "5\n"),
        ('.list += {"name": "x"} | .list | length', "3\n"),
        (".b.d += 4 | .b.d | length", "3\n"),
        (".list | any_c(.n == 2)", "true\n"),
        (".list | all_c(.n == 2)", "false\n"),
        (".list | first(.n == 2) | .name", "bar\n"),
        (".list | @csv", "name,n\nfoo,1\nbar,2\n\n"),
        (".list | pivot | .n", "- 1\n- 2\n"),
        ('.b.c |= sub("c", "r") | .b.c', "rat\n"),
        ('.b.c = "a ${HOME}" | .b.c |= envsubst | .b.c', "a /root\n"),
        ('"x: 1" | from_yaml | .x', "1\n"),
        (".list[0] | to_yaml", "name: foo\nn: 1\n\n"),
        ('{"x": [1]} *+ {"x": [2]} | .x | length', "2\n"),
        ('{"x": 1} *n {"x": 2, "y": 3} | .x + .y', "4\n"),
        ('{"x": 1} *? {"x": 2, "y": 3} | length', "1\n"),
        ('[{"x": 1}] *d [{"y": 2}] | .[0] | length', "2\n"),
        ('.a tag="!!str" | .a | tag', "!!str\n"),
    ],
)
def test_operators_of_mikefarahs_yq(expression: str, expected: str) -> None:
    """What mikefarah's yq has and jq has not works as its manual says."""
    done = ours(["yq", expression], DOCUMENT.encode(), env={"HOME": "/root"})
    assert (done.stdout.decode(), done.stderr) == (expected, b"")


def test_changes_by_these_operators_keep_comments() -> None:
    """`+=` leaves comments and notations where they were, `... style=""` gives them up."""
    changed = ours(["yq", ".a += 1"], DOCUMENT.encode()).stdout.decode()
    assert changed == DOCUMENT.replace("a: 1", "a: 2")
    plain = ours(["yq", '... style=""'], DOCUMENT.encode()).stdout.decode()
    assert "{" not in plain


@pytest.mark.parametrize(
    ("layout", "text", "expected"),
    [
        ("csv", "name,n\nbob,1\n", '[{"name":"bob","n":1}]'),
        ("tsv", "name\tn\nbob\t1\n", '[{"name":"bob","n":1}]'),
        ("props", "# c\na.b = 1\na.c: x y\nl.0=p\nl.1=q\n", '{"a":{"b":1,"c":"x y"},"l":["p","q"]}'),
        ("toml", 't = "x"\n[s]\nk = [1, 2]\n', '{"t":"x","s":{"k":[1,2]}}'),
        ("xml", '<r a="1"><x>1</x><x>2</x>t</r>', '{"r":{"+@a":"1","x":["1","2"],"+content":"t"}}'),
    ],
)
def test_input_formats(layout: str, text: str, expected: str, tmp_path: Path) -> None:
    """-p names the format of the input, and a file's extension does where it is not given."""
    done = ours(["yq", "-p", layout, "-o", "json", "-I0"], text.encode())
    assert done.stdout.decode() == expected + "\n"
    name = "f.properties" if layout == "props" else f"f.{layout}"
    (tmp_path / name).write_text(text)
    assert ours(["yq", "-oj", "-I0", name], cwd=tmp_path).stdout == done.stdout


@pytest.mark.parametrize("layout", ["csv", "toml", "xml", "props", "none"])
def test_bad_input_is_an_error(layout: str) -> None:
    """Text that is not of its format, and an unknown format, end with status 1."""
    text = b"[[[" if layout in ("toml", "xml", "none") else b""
    done = ours(["yq", "-p", layout], text)
    assert (done.status == 1) == bool(text)
