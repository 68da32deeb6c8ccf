"""What code sends to the host on purpose costs the host no more than the limits, and ends no session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import planaria

pytestmark = pytest.mark.slow

_COLLIDE = "keys = {place * (2**61 - 1): 0 for place in range(100)}"


def take(value: object) -> str:
    """A callback."""
    return type(value).__name__


@pytest.fixture(scope="module")
def session() -> Iterator[planaria.Session]:
    with planaria.Session(callbacks=[take]) as made:
        made.execute("kept = 1")
        yield made


@pytest.mark.parametrize("call", ["await take({})", "take.call({})"])
def test_arguments_that_the_host_cannot_decode_are_a_type_error(session: planaria.Session, call: str) -> None:
    """Keys that share a hash on the host are refused in the code, which goes on."""
    result = session.run(
        f"{_COLLIDE}\ntry:\n    {call.format('[keys]')}\nexcept TypeError as error:\n    print(error)\n"
        f"{call.format('kept')}"
    )
    assert result.stdout == "take(): an argument cannot be sent: too many keys with the same hash\n"
    assert result.value == "int"


#: Writes a call by itself: a million time zones, which no computer knows, in some 15 MB.
_MANY_ZONES = """
import struct
import planaria_kernel.sandbox.boot as boot
zone = bytes([8, 10, 3, 0x83]) + b"Qzq" + bytes([8, 8, 3, 0x40, 0x41, 0x40]) + b"\\x81x"
call = b"C" + bytes([0, 3, 0x84]) + b"take" + bytes([0, 1, 1, 255]) + struct.pack("<I", 990_000) + zone * 990_000
boot._settle.args[0](call + bytes([2, 0]))
"""


def test_decoding_ends_with_the_time_of_the_execution() -> None:
    """A frame that the host would decode for long ends in a timeout, and the session goes on."""
    limits = planaria.Limits(timeout=0.3, grace=0.1)
    with planaria.Session(callbacks=[take], limits=limits) as session:
        session.execute("kept = 1")
        assert isinstance(session.run(_MANY_ZONES).error, planaria.TimeoutError)
        assert session.execute("kept").value == 1


def test_a_value_that_the_host_cannot_decode_is_a_repr(session: planaria.Session) -> None:
    """The value of an execution that cannot be built here is replaced where it cannot, and the rest arrives."""
    value = session.execute(f"{_COLLIDE}\n[1, keys]").value
    assert value[0] == 1
    assert isinstance(value[1], planaria.Repr)
    assert "same hash" in value[1].text
    assert session.execute("kept").value == 1


def test_a_value_beyond_the_memory_is_a_repr() -> None:
    """A value whose objects take more memory than the limits name is a Repr that says so."""
    limits = planaria.Limits(memory=256 << 20, value=16 << 20)
    with planaria.Session(limits=limits) as session:
        session.execute("kept = 1")
        value = session.execute("[{}] * 1_300_000").value
        assert isinstance(value, planaria.Repr)
        assert "268435456 bytes of memory" in value.text
        assert session.execute("kept").value == 1


_OBJECT = """
class Endless:
    def __del__(self):
        while True:
            try:
                while True: pass
            except BaseException: pass
held = Endless()
"""
_THREADS = """
import threading
def spin():
    while True: pass
for _ in range(20):
    threading.Thread(target=spin).start()
"""


@pytest.mark.parametrize("code", [_OBJECT, _THREADS], ids=["object", "threads"])
def test_what_never_ends_is_named_and_undone(code: str) -> None:
    """A session in which every execution runs out of time says what helps, and that helps."""
    limits = planaria.Limits(timeout=0.3, grace=0.2)
    with planaria.Session(limits=limits) as session:
        session.execute("x = 1")
        session.run(code)
        first, second = (session.run("held = None; x") for _ in range(2))
        assert isinstance(first.error, planaria.TimeoutError)
        assert "a thread or a __del__ method of the code never ends" in str(second.error)
        session.reset()
        assert session.execute("x = 2; x").value == 2
        assert "never ends" not in str(session.run("import time; time.sleep(9)").error)


def test_loops_that_do_not_end_are_no_threads() -> None:
    """Executions that run out of time in their own code get no hint at what else may never end."""
    with planaria.Session(limits=planaria.Limits(timeout=0.1)) as session:
        for code in ("while True: pass", "import time\ntime.sleep(9)", "def f():\n    while True: pass\nf()"):
            error = session.run(code).error
            assert isinstance(error, planaria.TimeoutError)
            assert "never ends" not in str(error)


def test_a_link_that_leads_out_of_a_mount_is_refused_in_the_code(tmp_path: Path) -> None:
    """Code gets a PermissionError that says which links are allowed; the shell's `ln` and `tar` fail as well."""
    mounts = [planaria.Mount(tmp_path, "/out", mode="rw")]
    with planaria.Session(mounts=mounts) as session:
        session.execute("import os, shutil\nos.symlink('f', '/out/inside')")
        session.execute("os.makedirs('/out/a/b'); os.symlink('../../f', '/out/a/b/l')")
        session.execute("os.symlink('/etc/shadow', 'l')")
        for code in (
            "os.symlink('/etc/shadow', '/out/l')",
            "os.symlink('../l', '/out/l')",
            "shutil.copy('l', '/out/l', follow_symlinks=False)",
        ):
            with pytest.raises(planaria.ExecutionError, match="must be relative and stay inside") as caught:
                session.execute(code)
            assert caught.value.type == "PermissionError"
        with pytest.raises(planaria.ExecutionError, match="PermissionError"):
            session.execute("os.rename('/out/a/b', '/out/b')")
        link = "import subprocess; subprocess.run('ln -s /etc/shadow /out/l', shell=True).returncode"
        assert session.execute(link).value == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "inside"]
