"""Workflows: what is read of their source, their versions, and what is refused."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import planaria
from planaria.workspace.source import MAX_SOURCE, read_source
from planaria.workspace.storage.storage import Storage

FETCH = '''
"""About the file."""
import json

async def run(url: str, timeout: float = 30.0, *, headers: dict[str,str] | None = None, **rest) -> dict[str, object]:
    """Fetch and parse JSON."""
    return json.loads(tools.curl.get(url=url))
'''


def test_add_and_get(storage: Storage) -> None:
    """What was added is there with what its source says of it, in lists without the source."""
    library = storage.get_workflow_library()
    added = library.add("fetch_json", FETCH, "Fetch JSON from a URL")
    assert library.get("fetch_json") == added
    assert library.list() == [added]
    assert (added.name, added.description, added.version) == ("fetch_json", "Fetch JSON from a URL", 1)
    assert (added.is_async, added.error, added.source) == (True, None, FETCH)
    assert added.returns == "dict[str, object]"
    assert added.created_at.endswith("+00:00")
    assert added.summary()["parameters"] == [
        {"name": "url", "type": "str", "required": True, "default": None},
        {"name": "timeout", "type": "float", "required": False, "default": "30.0"},
        {"name": "headers", "type": "dict[str, str] | None", "required": False, "default": "None"},
        {"name": "**rest", "type": None, "required": False, "default": None},
    ]
    assert "source" not in added.summary()
    assert added.document() == {**added.summary(), "source": FETCH}


def test_unknown(storage: Storage) -> None:
    """What is not there is None, False or empty, also for names that cannot be."""
    library = storage.get_workflow_library()
    for name in ("none", "../x", "", "a/b", "a\0b", ".info/x", "x" * 500):
        assert library.get(name) is None
        assert library.versions(name) == []
        assert library.remove(name) is False
    assert library.list() == []
    assert library.search("anything") == []


def test_versions(storage: Storage) -> None:
    """Each change is a version that can be got again; adding what is there changes nothing."""
    library = storage.get_workflow_library()
    sources = [f"def run():\n    return {number}\n" for number in range(3)]
    for source in sources:
        library.add("flow", source, "A flow")
    again = library.add("flow", sources[2], "A flow")
    assert again.version == 3
    assert [(one.version, one.source) for one in library.versions("flow")] == list(enumerate(sources, 1))
    first = library.get("flow", version=1)
    assert first is not None
    assert first.source == sources[0]
    assert library.get("flow", version=4) is None
    assert library.add("flow", sources[0], "A flow").version == 4
    moments = [one.created_at for one in library.versions("flow")]
    assert moments == sorted(moments)
    assert [one.version for one in library.list()] == [4]


def test_descriptions_survive(storage_kind: str, storage: Storage, place: str) -> None:
    """A description stays with new sources and other processes until another is given; without one it is the
    docstring.
    """
    from storage_kinds import open_storage

    library = storage.get_workflow_library()
    library.add("flow", "def run():\n    '''Said in the source.'''\n")
    assert library.list()[0].description == "Said in the source."
    library.add("flow", "def run(): return 1\n", "Given")
    library.add("flow", "def run(): return 2\n")
    other = open_storage(storage_kind, place)
    found = other.get_workflow_library().get("flow")
    assert found is not None
    assert (found.description, found.version) == ("Given", 3)
    assert library.add("flow", "def run(): return 2\n", "Changed").version == 4
    assert other.get_workflow_library().list()[0].description == "Changed"
    assert library.add("flow", "'''Of the file.'''\ndef run(): return 2\n", "").description == "Of the file."
    other.close()


def test_remove(storage: Storage) -> None:
    """What is removed is gone with its versions; a new one of that name begins anew."""
    library = storage.get_workflow_library()
    library.add("flow", "def run(): return 1\n")
    library.add("flow", "def run(): return 2\n")
    assert library.remove("flow")
    assert not library.remove("flow")
    assert library.list() == library.versions("flow") == []
    assert library.add("flow", "def run(): return 3\n").version == 1


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a-b", "not a Python identifier"),
        ("", "not a Python identifier"),
        ("../x", "not a Python identifier"),
        ("a/b", "not a Python identifier"),
        ("ﬁle", "not a Python identifier"),
        ("class", "a keyword"),
        ("list", "workflows.list is something else"),
        ("invoke", "workflows.invoke is something else"),
        ("_private", "begins with an underscore"),
        ("__class__", "begins with an underscore"),
        ("x" * 101, "longer than 100"),
    ],
)
def test_names_refused(storage: Storage, name: str, reason: str) -> None:
    """A workflow's name is one that Python code can say after a dot."""
    with pytest.raises(planaria.WorkflowError, match=reason):
        storage.get_workflow_library().add(name, "def run(): pass\n")
    assert storage.get_workflow_library().list() == []


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def run(:\n", "line 1"),
        ("x = 1\n", "no function `run` at the top level"),
        ("if True:\n    def run(): pass\n", "no function `run` at the top level"),
        ("class run: pass\n", "no function `run` at the top level"),
        ("def run(): pass\0\n", "null bytes"),
        ("(" * 5000, "line 1|nested too deeply"),
        ("x = " + "-" * 100_000 + "1\ndef run(): pass\n", "line 1|nested too deeply"),
        ("x = " + "a." * 20_000 + "b\ndef run(): pass\n", "line 1|nested too deeply"),
        ("#" * MAX_SOURCE + "\ndef run(): pass\n", "are allowed"),
        ("def run(): '\ud800'\n", "cannot be encoded"),
    ],
)
def test_sources_refused(storage: Storage, source: str, reason: str) -> None:
    """A source that is not Python, has no `run`, or is too large or too deep is refused, and nothing is kept."""
    library = storage.get_workflow_library()
    with pytest.raises(planaria.WorkflowError, match=reason):
        library.add("flow", source)
    assert library.list() == []


def test_nested_defaults_are_shown_in_part(storage: Storage) -> None:
    """A default that is long or deeply nested is kept to its beginning."""
    workflow = storage.get_workflow_library().add("flow", "def run(a=" + "[" * 150 + "]" * 150 + "): pass\n")
    assert workflow.parameters[0]["default"] == "[" * 150 + "]" * 150
    workflow = storage.get_workflow_library().add("flow", f"def run(a={'x' * 500!r}): pass\n")
    assert workflow.parameters[0]["default"] == "'" + "x" * 299 + "…"


@given(st.binary(max_size=200))
def test_any_bytes_are_read(source: bytes) -> None:
    """Whatever bytes a file holds, reading it gives an outline; one without an error is of valid Python."""
    outline = read_source(source)
    if outline.error is None:
        compile(source, "workflow", "exec")


def test_source_is_never_executed(storage: Storage, tmp_path: Path) -> None:
    """Adding and listing a workflow runs nothing of it."""
    witness = tmp_path / "witness"
    source = f"open({str(witness)!r}, 'w')\ndef run(a=open({str(witness)!r}, 'w')): pass\n"
    storage.get_workflow_library().add("flow", source)
    storage.get_workflow_library().list()
    assert not witness.exists()


def test_edited_by_hand(tmp_path: Path) -> None:
    """A file that is edited counts as it stands, as a version that the next `add` records."""
    storage = planaria.FileStorage(tmp_path)
    library = storage.get_workflow_library()
    library.add("flow", "def run(): return 1\n", "Given")
    assert library.list()[0].version == 1
    file = tmp_path / "workflows/flow.py"
    file.write_text("def run(a: int): return 2\n")
    (found,) = library.list()
    assert (found.version, found.source, found.description) == (2, "def run(a: int): return 2\n", "Given")
    assert [name["name"] for name in found.parameters] == ["a"]
    assert [one.version for one in library.versions("flow")] == [1, 2]
    assert library.get("flow") == library.get("flow", 2) == found
    library.add("flow", "def run(): return 3\n")
    assert [one.source for one in library.versions("flow")] == [
        "def run(): return 1\n",
        "def run(a: int): return 2\n",
        "def run(): return 3\n",
    ]
    file.write_text("def run(): return 1\n")
    assert library.list()[0].version == 1
    file.unlink()
    assert library.list() == []
    assert library.get("flow") is None
    assert library.add("flow", "def run(): return 5\n").version == 4


def test_edits_are_found_by_search(tmp_path: Path) -> None:
    """A search finds what the file says now, not what it said before."""
    library = planaria.FileStorage(tmp_path).get_workflow_library()
    library.add("flow", "def run():\n    'Count apples.'\n")
    assert [one.name for one, _ in library.search("apple")] == ["flow"]
    for word in ("pears", "plums", "grape"):  # of one length: a size would not tell
        (tmp_path / "workflows/flow.py").write_text(f"def run():\n    'Count {word}.'\n")
        assert [one.name for one, _ in library.search(word)] == ["flow"]
        assert library.search("apple") == []


def test_broken_files_are_listed(tmp_path: Path) -> None:
    """A file that cannot run is listed with its error, whatever is wrong with it, and hides no other."""
    folder = tmp_path / "workflows"
    folder.mkdir()
    (folder / "good.py").write_text("def run(): pass\n")
    (folder / "syntax.py").write_text("def run(:\n")
    (folder / "norun.py").write_text("'''Doc.'''\n")
    (folder / "latin.py").write_bytes(b"def run(): '\xe9'\n")
    (folder / "not-a-name.py").write_text("def run(): pass\n")
    (folder / "list.py").write_text("def run(): pass\n")
    (folder / "info.py").write_text("def run(): pass\n")
    (folder / "_helper.py").write_text("")
    (folder / "notes.txt").write_text("")
    (folder / "folder.py").mkdir()
    (folder / ".info").mkdir()
    (folder / ".info/info.json").write_text("{}")
    library = planaria.FileStorage(tmp_path).get_workflow_library()
    errors = {one.name: one.error for one in library.list()}
    assert list(errors) == ["good", "info", "latin", "list", "norun", "not-a-name", "syntax"]
    assert errors["good"] is None
    assert "line 1" in (errors["syntax"] or "")
    assert "no function `run`" in (errors["norun"] or "")
    assert "not UTF-8" in (errors["latin"] or "")
    assert "not a Python identifier" in (errors["not-a-name"] or "")
    assert "something else" in (errors["list"] or "")
    assert "info.json is damaged" in (errors["info"] or "")
    found = library.get("not-a-name")
    assert found is not None
    assert found.error == errors["not-a-name"]
    with pytest.raises(planaria.StorageError, match=r"info\.json is damaged"):
        library.add("info", "def run(): pass\n")
    assert library.add("syntax", "def run(): pass\n").version == 2


def test_files_as_people_see_them(tmp_path: Path) -> None:
    """A workflow is a file of its name, its earlier versions and its description are beside."""
    library = planaria.FileStorage(tmp_path).get_workflow_library()
    library.add("flow", "def run(): return 1\n", "Ünder")
    library.add("flow", "def run(): return 2\n")
    shown = sorted(str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*") if one.is_file())
    assert shown == [
        ".storage/lock",
        "workflows/.info/flow.json",
        "workflows/.versions/flow/1.py",
        "workflows/.versions/flow/2.py",
        "workflows/flow.py",
    ]
    assert (tmp_path / "workflows/flow.py").read_text() == "def run(): return 2\n"
    assert "Ünder" in (tmp_path / "workflows/.info/flow.json").read_text("utf-8")
    library.remove("flow")
    assert [one.name for one in tmp_path.rglob("*") if one.is_file()] == ["lock"]


def test_restored_files_keep_their_time(tmp_path: Path) -> None:
    """A file whose contents changed while its time and size did not is noticed all the same."""
    library = planaria.FileStorage(tmp_path).get_workflow_library()
    library.add("flow", "def run(): return 1\n")
    file = tmp_path / "workflows/flow.py"
    os.utime(file, (1, 1))
    assert library.list()[0].source == "def run(): return 1\n"
    time.sleep(0.1)
    file.write_text("def run(): return 2\n")
    os.utime(file, (1, 1))
    assert library.list()[0].source == "def run(): return 2\n"
