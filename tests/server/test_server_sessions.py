"""The native API: sessions, executions, states, files."""

from __future__ import annotations

import io
import json
import tarfile
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from session_server import BYTES, run

from planaria import Snapshot
from planaria_kernel.protocol import encode

pytestmark = pytest.mark.slow


def events(client: httpx.Client, path: str, **body: Any) -> Iterator[tuple[str, Any]]:
    """The events of a streamed execution as they come."""
    headers = {"Accept": "text/event-stream"}
    with client.stream("POST", path, json=body, headers=headers) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        name = ""
        for line in response.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield name, json.loads(line.removeprefix("data: "))


def test_a_session_keeps_its_state(client: httpx.Client, session: str) -> None:
    """Variables stay from request to request; the value, the output and the count come back."""
    run(client, session, "x = 40")
    found = run(client, session, "print('adding')\nx + 2")
    assert (found["value"], found["repr"], found["stdout"]) == (42, "42", "adding\n")
    assert (found["ok"], found["status"], found["execution_count"]) == (True, "done", 2)


def test_bash_shares_the_files_of_python(client: httpx.Client, session: str) -> None:
    """A script reads its input and what Python wrote; its exit status is reported."""
    run(client, session, "open('a.txt', 'w').write('b\\n')")
    found = client.post(f"{session}/bash", json={"script": "cat a.txt -; exit 3", "stdin": "c\n"}).json()
    assert (found["stdout"], found["exit_code"], found["error"]) == ("b\nc\n", 3, None)


def test_an_exception_is_a_result(client: httpx.Client, session: str) -> None:
    """What the code raises is in the result, whose status code is 200."""
    found = run(client, session, "1 / 0")
    assert (found["ok"], found["error"]["type"], found["error"]["lineno"]) == (False, "ZeroDivisionError", 1)


def test_a_timeout_stops_the_code(client: httpx.Client, session: str) -> None:
    """The request's timeout ends an endless loop, and the session stays usable."""
    run(client, session, "n = 0")
    assert run(client, session, "while True: n += 1", timeout=0.2)["error"]["type"] == "TimeoutError"
    assert run(client, session, "n > 0")["value"] is True


def test_output_is_streamed_in_order(client: httpx.Client, session: str) -> None:
    """Server-sent events have standard output and error, displays and the result, as they come."""
    code = (
        "import sys\nprint('é')\nprint('err', file=sys.stderr)\n"
        "display({'text/plain': 'shown'}, raw=True)\n'value'"
    )
    found = list(events(client, f"{session}/run", code=code))
    assert [name for name, _ in found] == ["stdout", "stderr", "display", "result"]
    assert found[0][1] == {"text": "é\n"}
    assert found[2][1]["data"] == {"text/plain": "shown"}
    assert found[3][1]["value"] == "value"


def test_a_problem_is_an_event_too(client: httpx.Client, session: str) -> None:
    """An execution that cannot begin ends its stream with a problem document."""
    run(client, session, "await ask()")
    [(name, problem)] = events(client, f"{session}/run", code="1")
    assert (name, problem["status"], problem["error"]) == ("problem", 409, "SessionBusy")


def test_input_waits_for_a_line(client: httpx.Client, session: str) -> None:
    """`input()` comes as a call that blocks, and goes on with the answer."""
    found: list[Any] = []
    for name, data in events(client, f"{session}/run", code="input('name? ')"):
        if name == "call":
            assert (data["name"], data["args"], data["blocking"]) == ("input", ["name? "], True)
            assert client.get(f"{session}/calls").json()["calls"][0]["id"] == data["id"]
            answered = client.post(f"{session}/calls/{data['id']}", json={"value": "Ada"})
            assert answered.status_code == 202
        found.append((name, data))
    assert found[-1][1]["value"] == "Ada"


def test_calls_wait_for_their_answers(client: httpx.Client, session: str) -> None:
    """Awaited calls of the client's functions are listed, and answering all of them ends the execution."""
    code = "import asyncio\nawait asyncio.gather(ask(1, b=2), ask(3))"
    waiting = run(client, session, code)
    assert (waiting["status"], waiting["ok"]) == ("waiting", False)
    first, second = client.get(f"{session}/calls").json()["calls"]
    assert (first["name"], first["args"], first["kwargs"]) == ("ask", [1], {"b": 2})
    still = client.post(f"{session}/calls/{first['id']}", json={"value": {"a": [1]}}).json()
    assert [one["id"] for one in still["calls"]] == [second["id"]]
    done = client.post(f"{session}/calls/{second['id']}", json={"value": None}).json()
    assert (done["status"], done["value"]) == ("done", [{"a": [1]}, None])


def test_a_refused_call_raises(client: httpx.Client, session: str) -> None:
    """An answer with an error raises it in the code; a call that does not wait is a problem."""
    [call] = run(client, session, "await ask()")["calls"]
    answer = {"error": "not today", "error_type": "PermissionError"}
    done = client.post(f"{session}/calls/{call['id']}", json=answer).json()
    assert (done["error"]["type"], done["error"]["message"]) == ("PermissionError", "not today")
    gone = client.post(f"{session}/calls/{call['id']}", json={})
    assert (gone.status_code, gone.json()["code"]) == (404, "no-call")


def test_values_arrive_exactly(client: httpx.Client, session: str) -> None:
    """With `exact` the value comes in planaria's encoding, whatever JSON makes of it."""
    import base64

    found = run(client, session, "(1, {2})", exact=True)
    assert found["value"] is None
    assert base64.b64decode(found["value_base64"]) == encode((1, {2}))


def test_interrupt_ends_an_endless_loop(client: httpx.Client, session: str) -> None:
    """Another request stops what runs; the result of the first one says so."""
    found: list[Any] = []
    for name, data in events(client, f"{session}/run", code="print('on')\nwhile True: pass"):
        if name == "stdout":
            assert client.post(f"{session}/interrupt").status_code == 204
        found.append((name, data))
    assert found[-1][1]["error"]["type"] == "Interrupted"


def test_interrupt_cancels_what_waits(client: httpx.Client, session: str) -> None:
    """An execution that waits for an answer is cancelled, and another one can begin."""
    run(client, session, "await ask()")
    assert client.post(f"{session}/interrupt").status_code == 204
    assert run(client, session, "1")["value"] == 1


def test_a_key_executes_once(client: httpx.Client, session: str) -> None:
    """A request with the same Idempotency-Key gets the same result; another body with it is refused."""
    run(client, session, "n = 0")
    body, headers = {"code": "n += 1\nn"}, {"Idempotency-Key": "k"}
    answers = [client.post(f"{session}/run", json=body, headers=headers).json() for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    assert run(client, session, "n")["value"] == 1
    other = client.post(f"{session}/run", json={"code": "n"}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (422, "key-reused")


def test_a_key_counts_while_the_first_request_runs(client: httpx.Client, session: str) -> None:
    """Of two requests with a key at the same time, one executes and both get its result."""
    run(client, session, "n = 0")
    body, headers = {"code": "import time\ntime.sleep(0.2)\nn += 1\nn"}, {"Idempotency-Key": "k"}
    values: list[Any] = []

    def send() -> None:
        values.append(client.post(f"{session}/run", json=body, headers=headers).json()["value"])

    threads = [threading.Thread(target=send) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values == [1, 1]


def test_forks_go_their_own_ways(client: httpx.Client, session: str) -> None:
    """Forks have the state of their session and change it for themselves; the tree names them."""
    run(client, session, "x = 1")
    made = client.post(f"{session}/fork", json={"n": 2}).json()["sessions"]
    for number, one in enumerate(made):
        run(client, f"/v1/sessions/{one['id']}", f"x += {number + 10}")
    values = [run(client, f"/v1/sessions/{one['id']}", "x")["value"] for one in made]
    assert (values, run(client, session, "x")["value"]) == ([11, 12], 1)
    tree = client.get(f"{session}/tree").json()
    assert {one["id"] for one in tree["forks"]} == {one["id"] for one in made}


def test_states_can_be_gone_back_to(client: httpx.Client, session: str) -> None:
    """undo, redo, checkpoint and rewind take the session to its earlier states, which the tree shows."""
    run(client, session, "x = 1")
    assert client.post(f"{session}/checkpoint", json={"label": "one"}).status_code == 204
    run(client, session, "x = 2")
    run(client, session, "x = 3")
    assert client.post(f"{session}/undo", json={}).json()["executions"] == 2
    assert run(client, session, "x")["value"] == 2
    client.post(f"{session}/undo", json={})
    assert client.post(f"{session}/redo").json()["executions"] == 3
    assert client.post(f"{session}/rewind", json={"to": "one"}).json()["executions"] == 1
    assert run(client, session, "x")["value"] == 1
    nodes = client.get(f"{session}/tree").json()["nodes"]
    [labelled] = [one for one in nodes if one["labels"] == ["one"]]
    assert (labelled["code"], labelled["kept"]) == ("x = 1", True)
    entries = client.get(f"{session}/history").json()["entries"]
    assert [one["code"] for one in entries] == ["x = 1", "x"]
    nowhere = client.post(f"{session}/rewind", json={"to": "two"})
    assert (nowhere.status_code, nowhere.json()["error"]) == (409, "SessionError")


def test_snapshots_are_bytes_or_names(client: httpx.Client, session: str) -> None:
    """A snapshot's bytes and a snapshot kept by name both begin new sessions with its state."""
    import base64

    run(client, session, "x = 7")
    taken = client.post(f"{session}/snapshot", json={})
    assert Snapshot(taken.content).digest == taken.headers["planaria-digest"]
    kept = client.post(f"{session}/snapshot", json={"name": "seven"}).json()
    assert kept in client.get("/v1/snapshots").json()["snapshots"]
    declared = {"callbacks": [{"name": "ask"}]}
    encoded = base64.b64encode(taken.content).decode()
    for fields in ({"snapshot": "seven"}, {"snapshot_base64": encoded, **declared}):
        created = client.post("/v1/sessions", json=fields)
        assert created.status_code == 201, created.text
        assert run(client, f"/v1/sessions/{created.json()['id']}", "x")["value"] == 7
    assert client.delete("/v1/snapshots/seven").status_code == 204
    assert client.post("/v1/sessions", json={"snapshot": "seven"}).status_code == 404


def test_files_are_read_and_written(client: httpx.Client, session: str) -> None:
    """Files are put, listed, read and removed; what is not there is 404."""
    path = {"path": "folder/data.bin"}
    put = client.put(f"{session}/files", params=path, content=b"\0\xff", headers=BYTES)
    assert (put.status_code, put.json()["size"]) == (200, 2)
    assert run(client, session, "open('folder/data.bin', 'rb').read()", exact=True)["repr"] == r"b'\x00\xff'"
    assert client.get(f"{session}/files", params=path).content == b"\0\xff"
    [entry] = client.get(f"{session}/files/list", params={"path": "folder"}).json()["entries"]
    assert (entry["name"], entry["type"], entry["mode"]) == ("data.bin", "file", 0o644)
    assert client.get(f"{session}/files/stat", params={"path": "folder"}).json()["type"] == "directory"
    tree = {"path": "folder", "recursive": "true"}
    assert client.delete(f"{session}/files", params=tree).status_code == 204
    assert client.get(f"{session}/files", params=path).status_code == 404


def test_directories_are_sent_as_archives(client: httpx.Client, session: str) -> None:
    """A tar archive is unpacked into a directory, and comes back as one."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        member = tarfile.TarInfo("a/b.txt")
        member.size = 2
        archive.addfile(member, io.BytesIO(b"hi"))
    headers = {"Content-Type": "application/x-tar"}
    where = {"path": "unpacked"}
    put = client.put(f"{session}/files/tar", params=where, content=stream.getvalue(), headers=headers)
    assert put.status_code == 200, put.text
    back = client.get(f"{session}/files/tar", params=where)
    with tarfile.open(fileobj=io.BytesIO(back.content)) as archive:
        assert "a/b.txt" in [name.removeprefix("./") for name in archive.getnames()]


def test_sessions_are_listed_and_deleted(client: httpx.Client) -> None:
    """A session has the name and metadata that it was created with, once; deleted, it is gone."""
    fields = {"id": "mine", "metadata": {"team": "blue"}}
    created = client.post("/v1/sessions", json=fields).json()
    assert (created["id"], created["metadata"]) == ("mine", {"team": "blue"})
    assert client.post("/v1/sessions", json=fields).json()["code"] == "exists"
    assert "mine" in {one["id"] for one in client.get("/v1/sessions").json()["sessions"]}
    assert client.delete("/v1/sessions/mine").status_code == 204
    assert client.get("/v1/sessions/mine").status_code == 404
    assert client.post("/v1/sessions/mine/run", json={"code": "1"}).json()["code"] == "no-session"


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"{", 400), (b"[]", 422), (b'{"code": 1}', 422), (b'{"code": "1", "other": 1}', 422), (b"\xff", 400)],
)
def test_a_body_that_does_not_fit_is_a_problem(
    client: httpx.Client, session: str, body: bytes, status: int
) -> None:
    """A body that is not JSON or not of the schema is answered with a problem document that says where."""
    headers = {"Content-Type": "application/json"}
    response = client.post(f"{session}/run", content=body, headers=headers)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["problems"]
    text = client.post(f"{session}/run", content=b"{}", headers={"Content-Type": "text/plain"})
    assert text.status_code == 415


def test_the_document_names_every_route(client: httpx.Client) -> None:
    """The OpenAPI document has an operation for each route, and what is not in it is 404 or 405."""
    document = client.get("/v1/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert "post" in document["paths"]["/v1/sessions/{session}/run"]
    assert client.get("/v2").json()["status"] == 404
    assert client.patch("/v1/sessions").json()["status"] == 405


def test_metrics_count_what_was_done(client: httpx.Client, session: str) -> None:
    """The counters have executions by language and outcome, and how many sessions are live."""
    run(client, session, "1")
    text = client.get("/v1/metrics").text
    assert 'planaria_executions_total{language="python",outcome="ok"}' in text
    assert "planaria_sessions_live " in text
