"""The list of dependencies."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import planaria
from planaria.workspace.dependencies import canonical_requirement
from planaria.workspace.storage.storage import Storage

BY_HAND = """\
# What the agent needs.
--index-url https://example.invalid/simple
Pandas >= 2.0   # for frames

requests[socks] ; python_version < "3.13"
attrs==24.1 \\
    --hash=sha256:0000
-r more.txt
"""


def write(storage: Storage, text: str) -> None:
    storage.write(lambda documents: documents.put("requirements.txt", text.encode()))


def read(storage: Storage) -> str:
    return (storage.read(lambda documents: documents.fetch("requirements.txt")) or b"").decode()


def test_add_and_remove(storage: Storage) -> None:
    """Requirements are kept in order, one for a package, under canonical names."""
    deps = storage.get_dependency_list()
    assert deps.list() == []
    assert deps.add("Foo_Bar>=1") == "foo-bar>=1"
    deps.add("attrs")
    deps.add("foo.bar[x]==2; python_version>'3.8'")
    assert deps.list() == ['foo-bar[x]==2; python_version > "3.8"', "attrs"]
    assert deps.remove("FOO-bar")
    assert not deps.remove("foo-bar")
    assert deps.remove("attrs>=24")
    assert deps.list() == []


def test_the_file_stays_as_it_was_written(storage: Storage) -> None:
    """Comments, order and options of pip stay when the list is edited."""
    write(storage, BY_HAND)
    deps = storage.get_dependency_list()
    assert deps.list() == ["pandas>=2.0", 'requests[socks]; python_version < "3.13"', "attrs==24.1"]
    assert deps.options() == ["--index-url https://example.invalid/simple", "-r more.txt"]
    deps.add("pandas>=2")
    assert read(storage) == BY_HAND.replace("Pandas >= 2.0 ", "pandas>=2 ")
    deps.add("attrs>=24")
    deps.add("six")
    deps.remove("requests")
    assert read(storage) == (
        "# What the agent needs.\n--index-url https://example.invalid/simple\npandas>=2   # for frames\n\n"
        "attrs>=24\n-r more.txt\nsix\n"
    )


def test_adding_what_is_there_changes_nothing(storage: Storage) -> None:
    """A requirement that is there already leaves the file as it is, however it is written."""
    write(storage, BY_HAND)
    storage.get_dependency_list().add("pandas>=2.0")
    assert read(storage) == BY_HAND


@pytest.mark.parametrize(
    "text", ["", " ", "a b", "==1", "a>=", "-r x", "--pre", "a\n-r /x", "../x", "a; b", "x" * 501, "ü", "a\0"]
)
def test_refused(storage: Storage, text: str) -> None:
    """What is not a valid requirement is refused before anything is written."""
    deps = storage.get_dependency_list()
    for use in (deps.add, deps.remove):
        with pytest.raises(planaria.DependencyError, match="is not a valid requirement"):
            use(text)
    assert read(storage) == ""


def test_broken_lines(storage: Storage) -> None:
    """A broken line is reported with its number."""
    write(storage, "attrs\n\n# fine\nfoo >> 2\n")
    with pytest.raises(planaria.DependencyError, match=r"requirements\.txt, line 4: 'foo >> 2'"):
        storage.get_dependency_list().list()
    with pytest.raises(planaria.DependencyError, match="line 4"):
        storage.get_dependency_list().add("six")
    assert read(storage) == "attrs\n\n# fine\nfoo >> 2\n"


def test_edited_by_hand(tmp_path: Path) -> None:
    """The file is read as it stands, also with a byte order mark, Windows lines and no line at the end."""
    (tmp_path / "requirements.txt").write_bytes(b"\xef\xbb\xbfattrs\r\nsix")
    deps = planaria.FileStorage(tmp_path).get_dependency_list()
    assert deps.list() == ["attrs", "six"]
    deps.add("idna")
    assert deps.list() == ["attrs", "six", "idna"]


@given(
    st.builds(
        "".join,
        st.tuples(
            st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,8}[A-Za-z0-9])?", fullmatch=True),
            st.sampled_from(["", "[a]", "[a,b-c]"]),
            st.sampled_from(["", ">=1", "==1.*", "~=2.0", ">1,<3", "!=2"]),
            st.sampled_from(["", ' ; python_version<"4"', "; os_name=='nt' or extra=='x'"]),
        ),
    )
)
def test_canonical_form_is_final(text: str) -> None:
    """The canonical form of a requirement is its own canonical form."""
    once = canonical_requirement(text)
    assert canonical_requirement(once) == once
