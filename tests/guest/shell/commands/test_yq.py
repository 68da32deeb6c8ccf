"""YAML in and out."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support_data import ours

import planaria.guest.shell.commands.yq  # noqa: F401
from planaria.guest.shell.commands.yq.reader import read_documents
from planaria.guest.shell.commands.yq.writer import write


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
