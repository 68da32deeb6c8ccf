"""Building images and beginning sessions from them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import planaria
from planaria.limits import LEAST_MEMORY
from planaria.machine.image import image_place
from planaria.machine.memory import PAGE_BYTES

pytestmark = pytest.mark.slow

Build = Callable[..., planaria.Image]


def test_preload(build: Build, new_session: Any) -> None:
    """A preloaded module is imported already, and is not a variable of the session."""
    session = new_session(image=build(preload=["colorsys", "xml.etree.ElementTree"]))
    assert session.run(
        "import sys; 'colorsys' in sys.modules, 'xml.etree.ElementTree' in sys.modules"
    ).value == (
        True,
        True,
    )
    assert session.run("'colorsys' in globals()").value is False


def test_setup(build: Build, new_session: Any) -> None:
    """Names that the setup defines are in each session, which has its own."""
    image = build(setup="import json as j\nitems = [1]\ndef double(x):\n    return 2 * x")
    one, two = new_session(image=image), new_session(image=image)
    one.run("items.append(2)")
    assert one.run("double(items)").value == [1, 2, 1, 2]
    assert two.run("j.dumps(items)").value == "[1]"
    assert two.execution_count == 1


def test_what_the_setup_creates_is_immortal(build: Build, new_session: Any) -> None:
    """Looking at an object of an image, or of an image on it, does not write to the pages that sessions share."""
    base = build(setup="items = ['one']\ndef first():\n    return 'first'")
    upper = build(
        base=base, setup="text = 'two' + str(items)\nclass Point:\n    x = 2.5\nitems.append([Point()])"
    )
    counts = "import sys; [sys.getrefcount(one) >= 1 << 30 for one in ({})]"
    lower = "items, items[0], first, first.__code__, first()"
    assert all(new_session(image=base).run(counts.format(lower)).value)
    both = f"{lower}, text, Point, Point.x, items[1], items[1][0]"
    assert all(new_session(image=upper).run(counts.format(both)).value)


def test_setup_traceback(build: Build, new_session: Any) -> None:
    """A traceback through a function of the setup shows its source."""
    session = new_session(image=build(setup="def fail():\n    raise LookupError('here')"))
    assert "raise LookupError('here')" in session.run("fail()").error.traceback


def test_by_name(build: Build, new_session: Any) -> None:
    """A session finds an image by its name, and so does a later process."""
    image = build(setup="a = 1")
    assert new_session(image=image.name).run("a").value == 1
    assert image.name in planaria.Image.list()
    assert planaria.Image.find(image.name).digest == image.digest


def test_files(build: Build, new_session: Any, tmp_path: Path) -> None:
    """Files given as bytes, text and paths of the host are there when the setup runs and in each session."""
    (tmp_path / "tree" / "inner").mkdir(parents=True)
    (tmp_path / "tree" / "inner" / "script.sh").write_text("echo hi")
    (tmp_path / "tree" / "inner" / "script.sh").chmod(0o700)
    image = build(
        files={"a.txt": "ä", "/srv/data/b.bin": b"\0\1", "tree": tmp_path / "tree"},
        setup="text = open('a.txt').read()",
    )
    one, two = new_session(image=image), new_session(image=image)
    one.run("open('a.txt', 'w').write('changed')")
    assert two.run("text, open('a.txt').read(), open('/srv/data/b.bin', 'rb').read()").value == (
        "ä",
        "ä",
        b"\0\1",
    )
    assert two.run("import os; oct(os.stat('tree/inner/script.sh').st_mode & 0o777)").value == "0o755"


def test_files_that_the_setup_writes(build: Build, new_session: Any) -> None:
    """What the setup writes is in each session's files, and what it left open goes on at the same place."""
    session = new_session(
        image=build(setup="open('log', 'w').write('abc')\nfile = open('log')\nfile.read(1)")
    )
    assert session.files.read_text("log") == "abc"
    assert session.run("file.read()").value == "bc"
    session.reset()
    assert session.run("file.read()").value == "bc"


def test_files_and_mounts(build: Build, new_session: Any) -> None:
    """An image's files are there as well when the session has a storage, a quota or a clock of its own."""
    image = build(files={"a": "1"})
    storage = planaria.VfsStorage()
    clock = planaria.FrozenClock(10**18)
    session = new_session(image=image, vfs=storage, quota=planaria.Quota(bytes=1 << 24), clock=clock)
    assert session.run("import os; open('a').read(), os.listdir('/data')").value == ("1", [])


def test_base(build: Build, new_session: Any) -> None:
    """An image on a base has the modules, names and files of both; the base stays as it was."""
    base = build(setup="a = [1]", files={"base.txt": "base", "both.txt": "base"}, preload=["colorsys"])
    upper = build(base=base.name, setup="a.append(2)", files={"both.txt": "upper"})
    session = new_session(image=upper)
    assert session.run("a, open('base.txt').read(), open('both.txt').read()").value == (
        [1, 2],
        "base",
        "upper",
    )
    assert session.run("import sys; 'colorsys' in sys.modules").value
    assert new_session(image=base).run("a, open('both.txt').read()").value == ([1], "base")


def test_random_numbers_differ(build: Build, new_session: Any) -> None:
    """Sessions of one image have random numbers of their own, unless they are given the same seed."""
    image = build(setup="import random, uuid; random.seed(1)")
    source = "random.random(), str(uuid.uuid4())"
    first, second = (new_session(image=image).run(source).value for _ in range(2))
    assert first[0] != second[0]
    assert first[1] != second[1]
    third, fourth = (new_session(image=image, seed=5).run(source).value for _ in range(2))
    assert third == fourth


def test_sandbox_and_fork(build: Build, new_session: Any) -> None:
    """Everything that makes sessions of its own keeps the image: sandboxes, forks, resets."""
    image = build(setup="a = 1")
    assert planaria.Sandbox(image=image).run("a").value == 1
    (fork,) = new_session(image=image).fork()
    with fork:
        assert fork.run("a").value == 1
        fork.run("del a")
        fork.reset()
        assert fork.run("a").value == 1


def test_setup_that_fails(new_name: Callable[[], str]) -> None:
    """A setup that raises makes no image, and the error has its output and traceback."""
    name = new_name()
    with pytest.raises(planaria.ImageError, match=r"(?s)working.*line 2.*ZeroDivisionError"):
        planaria.Image.build(name, setup="print('working')\n1 / 0")
    assert name not in planaria.Image.list()


def test_setup_that_waits(build: Build) -> None:
    """A setup that sleeps is refused, because time stands still while an image is made."""
    with pytest.raises(planaria.ImageError, match="time stands still"):
        build(setup="import asyncio\nawait asyncio.sleep(1)")


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "a b", "x" * 101])
def test_bad_names(name: str) -> None:
    """A name that could be a path is refused."""
    with pytest.raises(planaria.ImageError, match="cannot name an image"):
        planaria.Image.build(name)


def test_a_cache_out_of_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be read in the cache is blamed on the cache, not on the image."""
    monkeypatch.setenv("PLANARIA_CACHE", str(tmp_path))
    (tmp_path / "images" / "taken.json").mkdir(parents=True)
    for use in (lambda: planaria.Image.find("taken"), planaria.Image.list):
        with pytest.raises(planaria.RuntimeSetupError, match=r"taken\.json cannot be read: Is a directory"):
            use()


def test_unknown_image() -> None:
    """An unknown image is an ImageError that says what to do."""
    with pytest.raises(planaria.ImageError, match="there is no image 'never-built'; "):
        planaria.Session(image="never-built")


def test_unknown_module(build: Build) -> None:
    """A preloaded module that is not there is reported by its name."""
    with pytest.raises(planaria.ImageError, match="No module named 'nowhere_to_be_found'"):
        build(preload=["nowhere_to_be_found"])


def test_remove(new_name: Callable[[], str], new_session: Any) -> None:
    """Removing an image frees its room on the disk; sessions and images that begin from it go on."""
    base = planaria.Image.build(new_name(), setup="a = 1", files={"f": "1"})
    upper = planaria.Image.build(new_name(), base=base, setup="b = 2")
    session = new_session(image=base)
    planaria.Image.remove(base.name)
    assert session.run("a").value == 1
    assert new_session(image=upper.name).run("a + b, open('f').read()").value == (3, "1")
    assert image_place(base.recipe).exists()
    planaria.Image.remove(upper.name)
    assert not image_place(base.recipe).exists()
    assert not image_place(upper.recipe).exists()
    with pytest.raises(planaria.ImageError):
        planaria.Image.remove(base.name)


def test_least_memory(new_session: Any) -> None:
    """A session with the least memory that a limit may give has room for 12 MB of a program's own."""
    session = new_session(limits=planaria.Limits(memory=LEAST_MEMORY))
    assert session.run("sum(map(len, [bytes(1000) for _ in range(12_000)]))").value == 12_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="the system says nothing of pages")
def test_new_code_looks_at_no_old_functions(new_session: Any) -> None:
    """Cells, whose code is new each time, do not read more and more pages of the image."""
    session = new_session()
    for _ in range(100):
        session.run("x = 1")
    before = _resident(session)
    for _ in range(300):
        session.run("x = 1")
    assert _resident(session) - before < 240 << 10  # it was 480 KB


def _resident(session: Any) -> int:
    """Bytes of a session's memory that the process has in its page tables."""
    machine = session._engine.executor._machine
    start, size = machine.linear.base, machine.memory_bytes
    with open("/proc/self/pagemap", "rb", buffering=0) as pagemap:
        pagemap.seek(start // PAGE_BYTES * 8)
        entries = pagemap.read(size // PAGE_BYTES * 8)
    return sum(entry & 0x80 for entry in entries[7::8]) // 0x80 * PAGE_BYTES


_DIGESTS = """
import json, sys, planaria
setup = "s = {{'a', 'b', 'c'}}"
image = planaria.Image.build("one", preload={preload}, setup=setup, files={{"f": "x", "g": "y"}})
upper = planaria.Image.build("two", base="one", setup="t = [hash('a'), open('f').read()]")
print(json.dumps([image.digest, upper.digest]))
"""


def test_deterministic(elsewhere: Callable[..., Any]) -> None:
    """Two processes with different hash seeds and caches build the same bytes from the same recipe."""
    source = _DIGESTS.format(preload=["sqlite3", "xml.etree.ElementTree"])
    assert elsewhere(source, seed=1) == elsewhere(source, seed=2)


@pytest.mark.full
@pytest.mark.exhaustive
def test_deterministic_with_pandas(elsewhere: Callable[..., Any]) -> None:
    """The same holds with pandas preloaded and warmed up."""
    source = _DIGESTS.format(preload=["pandas"])
    assert elsewhere(source, seed=3, full=True) == elsewhere(source, seed=4, full=True)


@pytest.mark.full
def test_pandas(build: Build, new_session: Any) -> None:
    """Pandas and pyplot can be preloaded, and sessions of such an image work as others do."""
    image = build(preload=["pandas", "matplotlib.pyplot"], setup="import pandas as pd")
    session = new_session(image=image)
    assert session.run("pd.DataFrame({'a': [1]}).a.sum()").value == 1
    result = session.run("import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()")
    assert result.error is None
    assert [output for output in result.outputs if "image/png" in output.data]
