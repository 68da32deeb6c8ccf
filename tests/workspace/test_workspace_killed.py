"""Writers that are killed, cut off from their server, or work at the same time."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis_server import RedisServer

import planaria
from planaria.workspace.storage.storage import Storage

pytestmark = pytest.mark.slow

_PROGRAM = """
import sys
sys.path[:0] = sys.argv[4:]
from storage_kinds import open_storage
storage = open_storage(sys.argv[1], sys.argv[2])
number = int(sys.argv[3])
artifacts, workflows, deps = (
    storage.get_artifact_store(), storage.get_workflow_library(), storage.get_dependency_list())
print("ready", flush=True)
sys.stdin.readline()
"""

_TOGETHER = (
    _PROGRAM
    + """
for step in range(12):
    workflows.add("shared", f"def run(): return {number}, {step}\\n")
    artifacts.save("shared", {"writer": number, "step": step}, f"{number} {step}")
    artifacts.save(f"own/{number}", [step])
    deps.add(f"package-{number}-{step}")
print("done", flush=True)
"""
)

_FOREVER = (
    _PROGRAM
    + """
step = 0
while True:
    step += 1
    text = f"{number} {step}"
    workflows.add("flow", f"def run(): return {text!r}\\n", text)
    artifacts.save("small", [text] if step % 2 else text, text)
    with artifacts.writer("large", "bytes", text) as out:
        for _ in range(3):
            out.write(text.encode().ljust(400_000))
    print(step, flush=True)
"""
)


@contextlib.contextmanager
def processes(program: str, kind: str, place: str, count: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Programs that are at their beginning; a line starts each. They are gone afterwards."""
    here = Path(__file__).parent
    command = [sys.executable, "-c", program, kind, place]
    path = [str(here), str(here.parent), *sys.path]
    started = [
        subprocess.Popen(
            [*command, str(number), *path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for number in range(count)
    ]
    try:
        for one in started:
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"
        yield started
    finally:
        for one in started:
            one.kill()
            one.communicate()


def begin(started: list[subprocess.Popen[str]]) -> None:
    for one in started:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()


def check_whole(storage: Storage) -> None:
    """Everything is of one write, and nothing is damaged."""
    library, store = storage.get_workflow_library(), storage.get_artifact_store()
    for workflow in library.list():
        assert workflow.error is None
        assert workflow.source == f"def run(): return {workflow.description!r}\n"
        assert workflow.version == library.versions(workflow.name)[-1].version
    for artifact in store.list():
        data = store.load(artifact.name)
        if artifact.name == "small":
            assert data == ([artifact.description] if artifact.kind == "json" else artifact.description)
        else:
            assert data == artifact.description.encode().ljust(400_000) * 3


def test_two_processes(storage_kind: str, place: str, storage: Storage) -> None:
    """Processes that write at the same time lose nothing: each version, each artifact and each requirement is there."""
    with processes(_TOGETHER, storage_kind, place, 2) as started:
        begin(started)
        for one in started:
            assert one.communicate(timeout=120)[0] == "done\n"
            assert one.returncode == 0
    library, store = storage.get_workflow_library(), storage.get_artifact_store()
    versions = library.versions("shared")
    assert [one.version for one in versions] == list(range(1, 25))
    assert {one.source for one in versions} == {
        f"def run(): return {number}, {step}\n" for number in range(2) for step in range(12)
    }
    shared = store.get("shared")
    assert shared is not None
    data = store.load("shared")
    assert shared.description == f"{data['writer']} {data['step']}"
    assert [store.load(f"own/{number}") for number in range(2)] == [[11], [11]]
    assert sorted(storage.get_dependency_list().list()) == sorted(
        f"package-{number}-{step}" for number in range(2) for step in range(12)
    )


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_killed_writers(storage_kind: str, place: str, storage: Storage) -> None:
    """Whenever writers are killed, each document is of one write, and writing goes on."""
    dice = random.Random(7)
    for _ in range(3):
        with processes(_FOREVER, storage_kind, place, 2) as started:
            begin(started)
            time.sleep(dice.uniform(0.05, 0.4))
            for one in started:
                os.kill(one.pid, signal.SIGKILL)
                one.wait()
        check_whole(storage)
    storage.get_artifact_store().save("small", "after", "after")
    check_whole(storage)


def test_killed_between_the_files_of_one_write(tmp_path: Path) -> None:
    """A transaction whose journal is written is carried out by the next process, whatever was moved already."""
    storage = planaria.FileStorage(tmp_path)
    storage.get_artifact_store().save("n", 1)
    staging = tmp_path / ".storage/staging"
    moves = []
    for name, path, data in (("s1", "tools/a.yaml", "moved already"), ("s2", "tools/b.yaml", "new")):
        (staging / name).write_text(data)
        moves.append([name, path])
    (tmp_path / "tools").mkdir()
    os.replace(staging / "s1", tmp_path / "tools/a.yaml")
    (tmp_path / ".storage/journal").write_text(json.dumps([*moves, [None, "artifacts/n.json"]]))
    assert [one.text for one in storage.get_tool_definitions()] == ["moved already", "new"]
    assert not storage.get_artifact_store().exists("n")
    assert not (tmp_path / ".storage/journal").exists()


@pytest.mark.parametrize(
    "journal",
    [
        "{",
        "[1]",
        '[["s", "../outside"]]',
        '[["s", "/outside"]]',
        '[["s", "a/../../outside"]]',
        '[["../../s", "tools/a"]]',
        '[[null, "../outside"]]',
        '[["s", 1]]',
    ],
)
def test_forged_journal(tmp_path: Path, journal: str) -> None:
    """A journal that leads out of the workspace, or is none, is refused before anything is moved."""
    (tmp_path / "outside").write_text("safe")
    storage = planaria.FileStorage(tmp_path / "workspace")
    storage.set_tool_definition("a", "")
    (tmp_path / "workspace/.storage/staging/s").write_text("forged")
    (tmp_path / "workspace/.storage/journal").write_text(journal)
    for use in (storage.get_tool_definitions, lambda: storage.set_tool_definition("b", "")):
        with pytest.raises(planaria.StorageError, match="journal is damaged"):
            use()
    assert (tmp_path / "outside").read_text() == "safe"


def test_redis_killed_in_the_middle_of_a_write(tmp_path: Path) -> None:
    """When Redis dies while an artifact is brought, the old one is there when Redis is back."""
    server = RedisServer(tmp_path, "--appendonly", "yes", "--appendfsync", "always")
    try:
        storage = planaria.RedisStorage(server.url)
        store = storage.get_artifact_store()
        store.save("n", "old", "described")
        storage.get_workflow_library().add("flow", "def run(): return 1\n")

        def write() -> None:
            with store.writer("n", "bytes") as out:
                out.write(bytes(3 << 20))
                server.kill()
                out.write(bytes(3 << 20))

        with pytest.raises(planaria.StorageError, match="Redis of this storage cannot be used"):
            write()
        with pytest.raises(planaria.StorageError, match="cannot be used"):
            storage.get_workflow_library().list()
        server.start()
        for _ in range(100):
            with contextlib.suppress(planaria.StorageError):  # it reads its log first
                assert store.load("n") == "old"
                break
            time.sleep(0.05)
        assert [one.description for one in store.list()] == ["described"]
        assert [one.version for one in storage.get_workflow_library().list()] == [1]
        store.save("n", "new")
        assert store.load("n") == "new"
        storage.close()
    finally:
        server.stop()


class _Line:
    """A line to a server that is cut after so many bytes."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.left: int | None = None
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._port))
                threading.Thread(target=self._carry, args=(near, far, True), daemon=True).start()
                threading.Thread(target=self._carry, args=(far, near, False), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, is_request: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if is_request and self.left is not None:
                    data, self.left = data[: self.left], max(self.left - len(data), 0)
                    if not self.left:
                        target.sendall(data)
                        break
                target.sendall(data)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()


def test_connection_lost_at_any_byte(redis_url: str, tmp_path: Path) -> None:
    """Wherever in a write the connection breaks, what others see is the old state or the new one, as a whole."""
    line = _Line(int(redis_url.rsplit(":", 1)[1].split("/")[0]))
    prefix = f"{tmp_path.name}:"
    watcher = planaria.RedisStorage(redis_url, prefix=prefix)
    written = lost = 0
    dice = random.Random(3)
    for number in range(40):
        text = f"text {number}"
        watcher.get_artifact_store().save("small", "before", "before")
        watcher.get_workflow_library().add("flow", "def run(): return 'before'\n", "before")
        storage = planaria.RedisStorage(line.url, prefix=prefix)
        storage.get_artifact_store().load("small")  # connected
        line.left = dice.randrange(1, 12_000)
        try:
            storage.get_workflow_library().add("flow", f"def run(): return {text!r}\n", text)
            storage.get_artifact_store().save("small", [text], text)
            written += 1
        except planaria.StorageError:
            lost += 1
        line.left = None
        check_whole(watcher)
        storage.close()
    line.close()
    assert written
    assert lost
    watcher.close()


def test_place_that_cannot_be_used(tmp_path: Path) -> None:
    """A place that is not a directory, database or server is a StorageError that names it."""
    (tmp_path / "file").write_text("text " * 1000)
    with pytest.raises(planaria.StorageError, match="file"):
        planaria.FileStorage(tmp_path / "file").get_artifact_store().save("n", 1)
    with pytest.raises(planaria.StorageError, match="file"):
        planaria.SqliteStorage(tmp_path / "file")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        storage = planaria.RedisStorage(f"redis://127.0.0.1:{probe.getsockname()[1]}/0")
        with pytest.raises(planaria.StorageError, match="cannot be used"):
            storage.get_artifact_store().save("n", 1)
        with pytest.raises(planaria.StorageError, match="cannot be used"):
            storage.get_artifact_store().writer("n", "text").write(b"x")


def test_redis_arguments(redis_url: str) -> None:
    """RedisStorage takes a URL or a client that gives bytes."""
    import redis

    with pytest.raises(TypeError, match="either url= or redis="):
        planaria.RedisStorage()
    with pytest.raises(TypeError, match="without decode_responses"):
        planaria.RedisStorage(redis=redis.Redis.from_url(redis_url, decode_responses=True))
    client = redis.Redis.from_url(redis_url)
    storage = planaria.RedisStorage(redis=client, prefix="given:")
    storage.get_artifact_store().save("n", 1)
    storage.close()
    assert client.ping()
    keys = {key.decode() for key in client.keys("given:*")}
    assert keys
    assert all(key.startswith("given:workspace:") for key in keys)


def test_read_only(tmp_path: Path) -> None:
    """Looking at a workspace in a directory writes nothing, also where there is none."""
    storage = planaria.FileStorage(tmp_path / "none")
    assert storage.get_workflow_library().list() == []
    assert storage.get_artifact_store().list() == []
    assert storage.get_dependency_list().list() == []
    assert storage.get_tool_definitions() == []
    assert storage.list_snapshots() == []
    storage.close()
    assert not (tmp_path / "none").exists()
