"""Sessions that become images, and snapshots of sessions that begin from images."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import planaria

pytestmark = pytest.mark.slow

Build = Callable[..., planaria.Image]


def test_save(new_name: Callable[[], str], new_session: Any) -> None:
    """A saved session's variables, modules, files and open files are what new sessions begin with."""
    session = new_session()
    session.run("import colorsys\nx = [1, 2]\ndef f():\n    return x\nopen('a', 'w').write('abc')")
    session.run("file = open('a'); file.read(1); generator = (i for i in x); next(generator)")
    image = session.save_as_image(new_name())
    session.run("x.append(3)")
    one, two = new_session(image=image), new_session(image=image.name)
    assert one.run("f(), file.read(), next(generator), colorsys.__name__").value == (
        [1, 2],
        "bc",
        2,
        "colorsys",
    )
    one.run("x.clear()")
    assert two.run("f()").value == [1, 2]
    assert session.run("f()").value == [1, 2, 3]
    assert two.execution_count == 1


def test_save_again(new_name: Callable[[], str], new_session: Any) -> None:
    """A session of a saved image can be saved in turn, and images can be built on it."""
    session = new_session()
    session.run("x = 1")
    first = session.save_as_image(new_name())
    middle = new_session(image=first)
    middle.run("y = x + 1")
    second = middle.save_as_image(new_name())
    third = planaria.Image.build(new_name(), base=second, setup="z = x + y")
    assert new_session(image=third).run("x, y, z").value == (1, 2, 3)


def test_callbacks_are_left_out(new_name: Callable[[], str], new_session: Any) -> None:
    """The callbacks of the saved session are not in the image."""

    def ask() -> int:
        return 1

    session = new_session(callbacks=[ask])
    session.run("x = await ask()")
    image = session.save_as_image(new_name())
    assert new_session(image=image).run("x, 'ask' in dir(__builtins__)").value == (1, False)


def test_mounted_files(new_name: Callable[[], str], new_session: Any) -> None:
    """An open file of a mount cannot be part of an image; closed, the rest can be saved."""
    session = new_session(vfs=planaria.VfsStorage())
    session.run("file = open('/data/a', 'w')")
    with pytest.raises(planaria.ImageError, match="a file in /data is open"):
        session.save_as_image(new_name())
    session.run("file.close(); x = 1")
    assert new_session(image=session.save_as_image(new_name())).run("x").value == 1


def test_waiting(new_name: Callable[[], str], new_session: Any) -> None:
    """A session with an execution that waits cannot be saved as an image."""

    def ask() -> int:
        raise planaria.Suspend

    session = new_session(callbacks=[ask])
    session.start("await ask()")
    with pytest.raises(planaria.SessionBusy):
        session.save_as_image(new_name())


def test_kernels_that_lie(new_name: Callable[[], str], new_session: Any) -> None:
    """Code that meddles with how its kernel becomes an image gets an ImageError, and its session goes on."""
    session = new_session()
    for request in ("b'Z'", "b'Zxyz'", "b'Z' + b'\\xff' * 8", "b'unknown'"):
        session.run(
            "import gc, _host\nfrom planaria_kernel.sandbox import freeze\n"
            f"freeze._plug = lambda last: [_host.call({request})]"
        )
        with pytest.raises(planaria.ImageError):
            session.save_as_image(new_name())
    assert session.run("1 + 1").value == 2


_RESTORE = """
import json, sys, planaria
session = planaria.Session.from_snapshot(planaria.Snapshot.load(sys.argv[1]))
print(json.dumps(session.run(sys.argv[2]).value))
"""


def test_snapshot_elsewhere(build: Build, new_session: Any, elsewhere: Any, tmp_path: Path) -> None:
    """A snapshot goes on where neither the image nor its base is: both are made from what it carries."""
    base = build(files={"a": "1", "module.py": "value = 7"}, setup="x = [open('a').read()]")
    image = build(base=base, files={"b": "2"}, setup="import module\nx.append(open('b').read())")
    session = new_session(image=image)
    session.run("x.append('3'); import os; os.remove('a')")
    session.snapshot_state().save(tmp_path / "snapshot")
    answer = elsewhere(_RESTORE, str(tmp_path / "snapshot"), "[x, module.value, os.path.exists('a')]")
    assert answer == [["1", "2", "3"], 7, False]


def test_deltas(build: Build, new_session: Any) -> None:
    """A delta does not repeat what the complete snapshot carries of the image."""
    session = new_session(image=build(files={"large": bytes(range(256)) * 2000}, setup="x = 1"))
    complete = session.snapshot_state()
    session.run("x = 2")
    delta = session.snapshot_state(parent=complete)
    session.run("x = 3")
    session.restore_state(delta)
    assert session.run("x, len(open('large', 'rb').read())").value == (2, 512000)
    assert delta.layers == []
    assert len(complete.layers) == 1


_REFUSED = """
import json, sys, planaria
session = planaria.Session()
session.run("x = 'mine'")
try:
    session.restore_state(planaria.Snapshot.load(sys.argv[1]))
except planaria.SnapshotMismatch as error:
    print(json.dumps([str(error), session.run("x").value]))
"""


def test_snapshot_of_saved(new_name: Any, new_session: Any, elsewhere: Any, tmp_path: Path) -> None:
    """Where a saved image is missing, a snapshot against it says clearly that it cannot be made again."""
    session = new_session()
    session.run("x = 1")
    other = new_session(image=session.save_as_image(new_name()))
    other.run("x += 1")
    snapshot = other.snapshot_state()
    snapshot.save(tmp_path / "snapshot")
    assert new_session().restore_state(snapshot) is None
    message, value = elsewhere(_REFUSED, str(tmp_path / "snapshot"))
    assert "saved from a session" in message
    assert value == "mine"


def test_restore_across_images(build: Build, new_session: Any) -> None:
    """A snapshot of one image is restored into a session of another, which becomes it."""
    one, two = new_session(image=build(setup="a = 1")), new_session(image=build(setup="b = 2"))
    two.restore_state(one.snapshot_state())
    assert two.run("a, 'b' in globals()").value == (1, False)
