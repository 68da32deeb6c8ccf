"""Routes of the native API with plain requests, which other tests use by way of a client only."""

from __future__ import annotations

import base64
import uuid
from pathlib import Path
from typing import Any

import httpx
import pytest
from session_server import BYTES, client_of, run, served

import planaria
from planaria import MemoryStore

pytestmark = pytest.mark.slow


def test_a_session_is_changed(client: httpx.Client, session: str) -> None:
    """PATCH replaces functions and metadata, adds variables and starts the random numbers; the rest stays."""
    client.patch(session, json={"metadata": {"a": "1"}, "env": {"A": "1"}})
    changed = client.patch(
        session, json={"callbacks": [{"name": "other"}], "env": {"B": "2"}, "seed": 7}
    ).json()
    assert (changed["metadata"], changed["callbacks"]) == ({"a": "1"}, ["other"])
    found = run(client, session, "import os, random\n(os.environ['A'] + os.environ['B'], random.random())")
    client.patch(session, json={"seed": 7})
    again = run(client, session, "(os.environ['A'] + os.environ['B'], random.random())")
    assert found["repr"] == again["repr"]
    assert found["repr"].startswith("('12', ")
    assert run(client, session, "await other()")["calls"][0]["name"] == "other"


def test_variables_are_forgotten(client: httpx.Client, session: str) -> None:
    """clear forgets variables, reset starts again; files stay with both."""
    for how in ("clear", "reset"):
        run(client, session, "x = 1\nopen('kept.txt', 'a').write('k')")
        assert client.post(f"{session}/{how}").status_code == 200
        assert run(client, session, "'x' in globals()")["value"] is False
    assert run(client, session, "open('kept.txt').read()")["value"] == "kk"


def test_the_kernel_is_asked(client: httpx.Client, session: str) -> None:
    """A question is answered without an execution, and what it assigns is part of the state."""
    run(client, session, "value = 1")
    asked = client.post(f"{session}/query", json={"name": "complete", "arguments": ["val", 3]}).json()
    assert "value" in asked["answer"]["matches"]
    before = client.get(session).json()["executions"]
    client.post(f"{session}/query", json={"name": "clear"})
    assert client.get(session).json()["executions"] == before
    assert run(client, session, "'value' in globals()")["value"] is False
    assert client.post(f"{session}/query", json={"name": "shutdown"}).status_code == 422


def test_an_execution_is_resumed(client: httpx.Client, session: str) -> None:
    """All calls that wait are answered with one request; two answers to one are refused, a cancelled one ends."""
    code = "import asyncio\nawait asyncio.gather(ask(1), ask(2))"
    one, two = (call["id"] for call in run(client, session, code)["calls"])
    twice = [{"call": int(one), "value": 1}, {"call": int(one), "value": 2}]
    assert client.post(f"{session}/resume", json={"answers": twice}).status_code == 422
    answers = [{"call": int(one), "value": 10}, {"call": int(two), "value": 20}]
    assert client.post(f"{session}/resume", json={"answers": answers}).json()["value"] == [10, 20]
    assert client.post(f"{session}/resume", json={}).json()["code"] == "nothing-waits"
    run(client, session, "await ask()")
    cancelled = client.post(f"{session}/resume", json={"cancel": True}).json()
    assert cancelled["error"]["type"] in ("KeyboardInterrupt", "Interrupted")


def test_a_state_is_restored(client: httpx.Client, session: str) -> None:
    """A session becomes what a snapshot is, by name or as bytes; the digest is another one for another state."""

    def digest() -> Any:
        return client.get(f"{session}/digest").json()["digest"]

    run(client, session, "x = 1")
    before = digest()
    assert digest() == before
    data = client.post(f"{session}/snapshot", json={}).content
    client.post(f"{session}/snapshot", json={"name": "restored"}).raise_for_status()
    run(client, session, "x = 2")
    assert digest() != before
    for body in ({"snapshot": "restored"}, {"snapshot_base64": base64.b64encode(data).decode()}):
        run(client, session, "x = 2")
        assert client.post(f"{session}/restore", json=body).status_code == 200
        assert run(client, session, "x")["value"] == 1
    assert client.post(f"{session}/restore", json={}).status_code == 422
    assert client.post(f"{session}/restore", json={"snapshot": "none"}).json()["code"] == "no-snapshot"


def test_a_recording_is_taken(client: httpx.Client) -> None:
    """The recording of a session that was created with one is replayed here; others have none."""
    path = f"/v1/sessions/{client.post('/v1/sessions', json={'record': True}).json()['id']}"
    run(client, path, "print(6 * 7)")
    found = client.get(f"{path}/recording")
    assert (found.status_code, found.headers["content-type"]) == (200, "application/octet-stream")
    with planaria.replay(found.content) as playback:
        assert [one.code for one in playback.executions] == ["print(6 * 7)"]


def test_files_are_moved(client: httpx.Client, session: str) -> None:
    """Directories are created, files linked and moved; what is in the way is a conflict."""
    assert client.post(
        f"{session}/files/directory", params={"path": "a/b"}, json={"parents": True}
    ).is_success
    client.put(f"{session}/files", params={"path": "a/b/c.txt"}, content=b"text", headers=BYTES)
    linked = client.post(f"{session}/files/link", params={"path": "link"}, json={"target": "a/b/c.txt"})
    assert linked.is_success, linked.text
    assert client.get(f"{session}/files", params={"path": "link"}).content == b"text"
    moved = client.post(f"{session}/files/rename", params={"path": "link"}, json={"to": "moved"})
    assert moved.is_success, moved.text
    assert client.get(f"{session}/files", params={"path": "moved"}).content == b"text"
    assert client.get(f"{session}/files", params={"path": "link"}).status_code == 404
    again = client.post(f"{session}/files/directory", params={"path": "a/b"}, json={})
    assert (again.status_code, again.json()["error"]) == (409, "FileSystemError")


def test_every_execution_takes_a_key(client: httpx.Client, session: str) -> None:
    """A script, an answer and a resumption with an Idempotency-Key are carried out once."""
    headers = {"Idempotency-Key": "one"}
    for _ in range(2):
        done = client.post(f"{session}/bash", json={"script": "echo x >> log; cat log"}, headers=headers)
        assert done.json()["stdout"] == "x\n"
    [call] = run(client, session, "await ask()")["calls"]
    headers = {"Idempotency-Key": "two"}
    answers = [
        client.post(f"{session}/calls/{call['id']}", json={"value": 5}, headers=headers).json()
        for _ in range(2)
    ]
    assert [one["value"] for one in answers] == [5, 5]
    [call] = run(client, session, "await ask()")["calls"]
    body, headers = {"answers": [{"call": int(call["id"]), "value": 6}]}, {"Idempotency-Key": "three"}
    resumed = [client.post(f"{session}/resume", json=body, headers=headers).json() for _ in range(2)]
    assert [one["value"] for one in resumed] == [6, 6]


def test_clients_reach_what_the_server_names(tmp_path: Path) -> None:
    """A client can name neither a directory of the host nor an image that the server does not offer."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/offered.txt").write_text("offered")
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "in/link.txt").symlink_to("../secret.txt")
    mounts = [planaria.Mount(str(tmp_path / "in"), "/in", mode="ro")]
    with served(store=MemoryStore(), arguments={"mounts": mounts}) as server, client_of(server.url) as client:
        for field in ("mounts", "storage", "network", "limits"):
            assert client.post("/v1/sessions", json={field: []}).status_code == 422
        assert client.post("/v1/sessions", json={"image": "other"}).status_code == 422
        client.post("/v1/sessions", json={"id": "a"}).raise_for_status()
        assert run(client, "/v1/sessions/a", "open('/in/offered.txt').read()")["value"] == "offered"
        for path in (
            str(tmp_path / "secret.txt"),
            "/in/../secret.txt",
            "/in/link.txt",
            "../" * 9 + str(tmp_path),
        ):
            found = client.get("/v1/sessions/a/files", params={"path": path})
            assert found.status_code in (403, 404), (path, found.text)


def test_tools_are_listed(tmp_path: Path) -> None:
    """The workspace of a server is listed with its tools, and its artifacts are saved and loaded."""
    arguments = {"storage": planaria.FileStorage(tmp_path), "tools": [len_of]}
    with served(arguments=arguments) as server, client_of(server.url) as client:
        client.post("/v1/sessions", json={"id": "a"}).raise_for_status()
        workspace = client.get("/v1/sessions/a/workspace").json()
        assert [one["name"] for one in workspace["tools"]] == ["len_of"]
        saved = {"part": "artifacts", "method": "save", "arguments": ["one", {"n": 1}]}
        assert client.post("/v1/sessions/a/workspace", json=saved).status_code == 200
        loaded = {"part": "artifacts", "method": "load", "arguments": ["one"]}
        assert client.post("/v1/sessions/a/workspace", json=loaded).json()["answer"] == {"n": 1}
        assert [one["name"] for one in client.get("/v1/sessions/a/workspace").json()["artifacts"]] == ["one"]
        unknown = {"part": "artifacts", "method": "close", "arguments": []}
        assert client.post("/v1/sessions/a/workspace", json=unknown).status_code == 422


def len_of(text: str) -> int:
    """How long a text is."""
    return len(text)


def test_sessions_begin_from_images() -> None:
    """A session begins from the image that it names, and from the server's first one without a name."""
    names = [f"test-{uuid.uuid4().hex}" for _ in range(2)]
    try:
        for name in names:
            with planaria.Session() as session:
                session.set(made=name)
                session.save_as_image(name)
        with served(images=names) as server, client_of(server.url) as client:
            for wanted, expected in (
                ({"image": names[1]}, names[1]),
                ({"image": names[0]}, names[0]),
                ({}, names[0]),
            ):
                created = client.post("/v1/sessions", json=wanted).json()
                assert created["image"] == expected
                assert run(client, f"/v1/sessions/{created['id']}", "made")["value"] == expected
    finally:
        for name in names:
            planaria.Image.remove(name)
