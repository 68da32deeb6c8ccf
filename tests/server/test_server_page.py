"""The page of a server: its files, and what they ask the server beside the native API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
from session_server import Served, client_of, served

import planaria
from planaria.server import Token

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client(page_server: Served) -> Iterator[httpx.Client]:
    with client_of(page_server.url) as one:
        yield one


@contextmanager
def followed(client: httpx.Client, session: str) -> Iterator[Iterator[tuple[str, Any]]]:
    """The events of a session as they come, from all that there is on."""
    with client.stream("GET", f"{session}/events") as response:
        assert response.status_code == 200

        def events() -> Iterator[tuple[str, Any]]:
            name = ""
            for line in response.iter_lines():
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    yield name, json.loads(line.removeprefix("data: "))

        yield events()


def notebook(client: httpx.Client, session: str) -> Any:
    return client.get(f"{session}/notebook").json()


def test_the_page_and_its_files(client: httpx.Client) -> None:
    """The page needs no token, forbids scripts in its text, and names its files by what is in them."""
    page = client.get("/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    [scripts] = re.findall(r"script-src ([^;]*)", policy)
    assert "unsafe" not in scripts
    assert "'self'" not in scripts  # a file of a session is none
    assert "<script>" not in page.text
    addresses = re.findall(r'(?:src|href)="(/ui/[^"]*)"', page.text)
    assert len(addresses) > 20
    first = re.findall(r'<link rel="(?:stylesheet|modulepreload|preload)|<script[^>]*src="', page.text)
    assert first == ['<script type="module" src="']  # all else comes when the page is painted
    assert page.headers["content-encoding"] == "gzip"
    for address in addresses:
        found = client.get(address)
        assert found.status_code == 200, address
        assert "immutable" in found.headers["cache-control"]
    assert client.get("/", headers={"If-None-Match": page.headers["etag"]}).status_code == 304
    other = re.sub(r"assets/\w+/", "assets/0000/", addresses[0])
    assert client.get(other).status_code == 404


def test_there_is_no_page_unless_it_is_asked_for() -> None:
    """Without `page` a server has neither the page nor notebooks."""
    with served() as running, client_of(running.url) as one:
        assert one.get("/").status_code == 404
        session = one.post("/v1/sessions", json={}).json()["id"]
        assert one.get(f"/v1/sessions/{session}/notebook").status_code == 404


def test_the_page_is_public_and_sessions_are_not() -> None:
    """With tokens the page itself is served to anyone, and events only with one."""
    with served(page=True, tokens=[Token("blue", "secret")]) as running, client_of(running.url) as one:
        assert one.get("/").status_code == 200
        assert one.get("/v1/sessions/x/events").status_code == 401
        assert one.get("/", headers={"Host": "elsewhere.example"}).status_code == 421


def test_cells_have_what_their_executions_print(client: httpx.Client, session: str) -> None:
    """An execution that names a cell is shown in it, one that names none in a new one; with its outputs."""
    client.put(f"{session}/notebook/cells/one", json={"source": "draft"})
    client.post(f"{session}/run", json={"code": "print('é')\n6 * 7", "cell": "one"})
    client.post(f"{session}/bash", json={"script": "echo hi >&2; false"})
    client.post(f"{session}/run", json={"code": "1 / 0"})
    first, second, third = notebook(client, session)["cells"]
    assert (first["source"], first["state"], first["count"]) == ("print('é')\n6 * 7", "done", 1)
    assert first["outputs"] == [
        {"output_type": "stream", "name": "stdout", "text": "é\n"},
        {"output_type": "execute_result", "data": {"text/plain": "42"}, "metadata": {}},
    ]
    assert (second["kind"], second["outputs"][0]["name"]) == ("bash", "stderr")
    assert (third["state"], third["outputs"][0]["ename"]) == ("failed", "ZeroDivisionError")
    assert "1 / 0" in third["outputs"][0]["traceback"][0]


def test_all_followers_see_the_same(client: httpx.Client, session: str) -> None:
    """Who follows is first told the notebook, also in the middle of an execution, and then what happens."""
    with followed(client, session) as first:
        assert next(first) == ("notebook", {"cells": [], "terminal": "", "activity": []})
        client.put(f"{session}/notebook/cells/a", json={"source": "x", "client": "me"})
        _, reported = next(one for one in first if one[0] == "cell")
        assert (reported["id"], reported["source"], reported["after"], reported["client"]) == (
            "a",
            "x",
            "",
            "me",
        )
        code = "print(1)\ninput()\nprint(2)"
        with client.stream(
            "POST",
            f"{session}/run",
            json={"code": code, "cell": "a"},
            headers={"Accept": "text/event-stream"},
        ):
            names = [name for name, _ in _until(first, "calls")]
            assert [name for name in names if name != "changed"] == ["begun", "text", "calls"]
            with followed(client, session) as second:
                _, reported = next(second)
                assert reported["cells"][0]["state"] == "running"
                assert reported["cells"][0]["outputs"][0]["text"] == "1\n"
                [call] = client.get(f"{session}/calls").json()["calls"]
                client.post(f"{session}/calls/{call['id']}", json={"value": ""})
                for events in (first, second):
                    texts = [data["text"] for name, data in _until(events, "ended") if name == "text"]
                    assert texts == ["2\n"]


def _until(events: Iterator[tuple[str, Any]], wanted: str) -> Iterator[tuple[str, Any]]:
    for event in events:
        yield event
        if event[0] == wanted:
            return


def test_a_cell_that_waits_goes_on(client: httpx.Client, session: str) -> None:
    """The cell whose call waits says so, and has what is printed once the call is answered."""
    client.post(f"{session}/run", json={"code": "print(await ask('may I?'))", "cell": "a"})
    assert notebook(client, session)["cells"][0]["state"] == "waiting"
    [call] = client.get(f"{session}/calls").json()["calls"]
    client.post(f"{session}/calls/{call['id']}", json={"value": "yes"})
    [cell] = notebook(client, session)["cells"]
    assert (cell["state"], cell["outputs"][0]["text"]) == ("done", "yes\n")


def test_cells_are_moved_replaced_and_removed(client: httpx.Client, session: str) -> None:
    """Cells are put after others, all at once with the outputs of a file, and removed."""
    for name, after in (("a", None), ("b", None), ("c", "a"), ("d", "")):
        body = {"source": name, "kind": "markdown", "after": after}
        assert client.put(f"{session}/notebook/cells/{name}", json=body).status_code == 204
    assert [cell["id"] for cell in notebook(client, session)["cells"]] == ["d", "a", "c", "b"]
    assert client.delete(f"{session}/notebook/cells/d").status_code == 204
    assert client.delete(f"{session}/notebook/cells/d").status_code == 404
    output = {"output_type": "stream", "name": "stdout", "text": "kept\n"}
    cells = [{"id": "x", "source": "1", "outputs": [output]}, {"id": "y"}]
    assert client.put(f"{session}/notebook", json={"cells": cells}).status_code == 204
    first, second = notebook(client, session)["cells"]
    assert (first["outputs"], second["kind"]) == ([output], "code")
    assert client.put(f"{session}/notebook", json={"cells": [{"id": "x"}, {"id": "x"}]}).status_code == 422


def test_the_terminal_has_no_cells(client: httpx.Client, session: str) -> None:
    """What is run in the terminal is in its transcript, for all who follow."""
    client.post(f"{session}/bash", json={"script": "echo hi", "cell": "terminal"})
    found = notebook(client, session)
    assert (found["cells"], found["terminal"]) == ([], "$ echo hi\nhi\n")


def test_a_notebook_is_saved_and_forked() -> None:
    """Cells come back with a parked session, on another server too, and go along with forks."""
    store = planaria.MemoryStore()
    with served(store=store, page=True) as running, client_of(running.url) as one:
        one.post("/v1/sessions", json={"id": "kept"})
        one.post("/v1/sessions/kept/run", json={"code": "print('here')", "cell": "a"})
        one.put("/v1/sessions/kept/notebook/cells/b", json={"source": "draft"})
        one.post("/v1/sessions/kept/fork", json={"ids": ["copy"]})
        assert len(notebook(one, "/v1/sessions/copy")["cells"]) == 2
    with served(store=store, page=True) as running, client_of(running.url) as one:
        first, second = notebook(one, "/v1/sessions/kept")["cells"]
        assert (first["outputs"][0]["text"], first["state"], second["source"]) == ("here\n", "done", "draft")


def test_large_outputs_are_kept(tmp_path: Path) -> None:
    """Pictures and tables outlive the server, those of cells that are gone do not, nor those of a session."""
    show = "display({{'text/html': '<p>{}</p>' + 'x' * 20_000}}, raw=True)"
    path = "/v1/sessions/kept"
    with served(store=planaria.FileStore(tmp_path), page=True) as running, client_of(running.url) as one:
        one.post("/v1/sessions", json={"id": "kept"})
        for cell in ("a", "b", "c"):
            one.post(f"{path}/run", json={"code": show.format(cell), "cell": cell})
        one.post(f"{path}/run", json={"code": show.format("anew"), "cell": "c"})
        one.delete(f"{path}/notebook/cells/b")
        one.post(f"{path}/fork", json={"ids": ["copy"]})
        before = notebook(one, path)
    assert [cell["outputs"][0]["data"]["text/html"][:6] for cell in before["cells"]] == ["<p>a</", "<p>ane"]
    kept = [unquote(one.parent.name.removeprefix("@")) for one in tmp_path.rglob("output/**/contents")]
    with served(store=planaria.FileStore(tmp_path), page=True) as running, client_of(running.url) as one:
        assert notebook(one, path)["cells"] == before["cells"]
        one.delete(path)
        assert notebook(one, "/v1/sessions/copy")["cells"] == before["cells"]
        one.delete("/v1/sessions/copy")
    store = planaria.FileStore(tmp_path)
    assert len(kept) >= 4
    assert [store.attachments.get("output", name) for name in kept] == [None] * len(kept)
    store.close()


def test_states_are_compared(client: httpx.Client, session: str) -> None:
    """Two states, or those of two sessions, differ by variables and files, and stay as they are."""
    client.post(f"{session}/run", json={"code": "x = 1\ny = 'same'"})
    client.post(f"{session}/run", json={"code": "x = 2\nopen('new.txt', 'w').close()"})
    found = client.post(f"{session}/compare", json={"before": 1}).json()
    assert found["changed"] == {"x": [{"type": "int", "repr": "1"}, {"type": "int", "repr": "2"}]}
    assert (found["added"], found["removed"]) == ({}, {})
    assert found["files_added"] == ["/home/user/new.txt"]
    assert len(found["memory_bytes"]) == 2
    [fork] = client.post(f"{session}/fork", json={"at": 1}).json()["sessions"]
    assert (fork["executions"], fork["parent"]["executions"]) == (1, 1)
    other = client.post(f"{session}/compare", json={"session": fork["id"]}).json()
    assert other["files_removed"] == ["/home/user/new.txt"]
    assert client.post(f"{session}/run", json={"code": "x"}).json()["value"] == 2
    assert client.post(f"{session}/compare", json={"before": "nowhere"}).status_code == 409


def test_states_keep_their_numbers(client: httpx.Client, session: str) -> None:
    """A node of the tree has the same number whenever the tree is looked at."""

    def nodes() -> dict[str, int]:
        return {one["code"]: one["id"] for one in client.get(f"{session}/tree").json()["nodes"]}

    for code in ("1", "2"):
        client.post(f"{session}/run", json={"code": code})
    before = nodes()
    client.post(f"{session}/checkpoint", json={"label": "two"})
    client.post(f"{session}/rewind", json={"to": 1})
    client.post(f"{session}/run", json={"code": "3"})
    after = nodes()
    assert {code: after[code] for code in before} == before
    assert len(set(after.values())) == 4


def test_usage_and_sizes(client: httpx.Client, session: str) -> None:
    """Limits, memory and files of a session are reported, and the sizes of its variables."""
    client.post(f"{session}/run", json={"code": "x = bytes(1000)\ny = [x, x]"})
    client.put(
        f"{session}/files",
        params={"path": "a"},
        content=b"12345",
        headers={"Content-Type": "application/octet-stream"},
    )
    usage = client.get(f"{session}/usage").json()
    assert (usage["file_bytes"], usage["files"], usage["executions"]) == (5, 1, 1)
    assert usage["memory_bytes"] > 1 << 20
    sizes = client.post(f"{session}/query", json={"name": "sizes"}).json()["answer"]
    assert 1000 < sizes["x"] < sizes["y"] < 1100


def test_overview(client: httpx.Client, session: str) -> None:
    """All that is shown beside the cells comes at once, also while an execution waits."""
    client.post(f"{session}/run", json={"code": "x = b'123'\nopen('a', 'w').close()"})
    found = client.get(f"{session}/overview").json()
    assert (found["variables"]["x"]["type"], found["variables"]["x"]["repr"]) == ("bytes", "b'123'")
    assert found["variables"]["x"]["size"] > 3
    assert [one["name"] for one in found["files"]["entries"]] == ["a"]
    assert (found["session"]["executions"], found["usage"]["executions"]) == (1, 1)
    assert [one["execution"] for one in found["tree"]["nodes"]] == [0, 1]
    client.post(f"{session}/run", json={"code": "await ask(5)"})
    found = client.get(f"{session}/overview", params={"path": "/nowhere"}).json()
    assert (list(found["variables"]), found["files"]) == (["x"], None)
    assert [one["args"] for one in found["calls"]] == [[5]]
