"""Anthropic's worker of self-hosted environments, with a service that asks for a whole task."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
from anthropic import AsyncAnthropic
from anthropic.lib.environments import EnvironmentWorker
from anthropic.lib.tools.agent_toolset import AgentToolContext

import planaria
from planaria.integrations.anthropic import agent_toolset

TIME = "2026-11-01T00:00:00Z"
WORK = {
    "id": "work_1",
    "type": "work",
    "environment_id": "env_1",
    "data": {"type": "session", "id": "sesn_1"},
    "created_at": TIME,
    "metadata": {},
    "state": "queued",
}
SESSION = {
    "id": "sesn_1",
    "type": "session",
    "environment_id": "env_1",
    "status": "running",
    "agent": {"skills": []},
    "resources": [],
}
PROGRAM = (
    "import sys\nprices = [float(line) for line in open('prices.txt')]\nprint(sum(prices) / len(price))\n"
)
#: What the agent does: data and a program, its failure, the repair, and the answer in a variable of the shell.
TASK: list[tuple[str, dict[str, Any]]] = [
    ("write", {"file_path": "prices.txt", "content": "1.5\n2.5\n"}),
    ("write", {"file_path": "mean.py", "content": PROGRAM}),
    ("bash", {"command": "mean=$(python3 mean.py)"}),
    ("grep", {"pattern": "len"}),
    ("edit", {"file_path": "mean.py", "old_string": "len(price)", "new_string": "len(prices)"}),
    ("bash", {"command": "mean=$(python3 mean.py)"}),
    ("bash", {"command": 'echo "the mean is $mean" > answer.txt; cat answer.txt'}),
    ("glob", {"pattern": "*.txt"}),
    ("read", {"file_path": "answer.txt"}),
]


class Service:
    """Anthropic's side of one piece of work: asks for one call after the other, then ends the session."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.results: list[dict[str, Any]] = []
        self.events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self.is_over = asyncio.Event()
        self._ask_next()

    def _ask_next(self) -> None:
        number = len(self.results)
        if number < len(TASK):
            name, given = TASK[number]
            self.events.put_nowait(
                {
                    "type": "agent.tool_use",
                    "id": f"use_{number}",
                    "name": name,
                    "input": given,
                    "processed_at": TIME,
                }
            )
        else:
            self.events.put_nowait({"type": "session.status_terminated", "id": "end", "processed_at": TIME})
            self.events.put_nowait(None)

    async def answer(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path.removeprefix("/v1/")
        self.requests.append(f"{request.method} {path}")
        if request.headers["authorization"] != "Bearer the-key":
            return httpx2.Response(401)
        match request.method, path.split("/"):
            case "GET", ["environments", "env_1", "work", "poll"]:
                if self.requests.count(self.requests[-1]) == 1:
                    return httpx2.Response(200, json=WORK)
                self.is_over.set()
                return httpx2.Response(200, headers={"content-type": "application/json"}, content=b"null")
            case "POST", ["environments", "env_1", "work", "work_1", "heartbeat"]:
                beat = {"type": "work_heartbeat", "state": "active", "last_heartbeat": TIME}
                return httpx2.Response(200, json={**beat, "lease_extended": True, "ttl_seconds": 60})
            case "POST", ["environments", "env_1", "work", "work_1", "ack" | "stop"]:
                return httpx2.Response(200, json=WORK)
            case "GET", ["sessions", "sesn_1"]:
                return httpx2.Response(200, json=SESSION)
            case "GET", ["sessions", "sesn_1", "events"]:
                return httpx2.Response(200, json={"data": [], "next_page": None})
            case "GET", ["sessions", "sesn_1", "events", "stream"]:
                headers = {"content-type": "text/event-stream"}
                return httpx2.Response(200, headers=headers, content=self._stream())
            case "POST", ["sessions", "sesn_1", "events"]:
                self.results += json.loads(request.content)["events"]
                self._ask_next()
                return httpx2.Response(200, json={"data": []})
        return httpx2.Response(404)

    async def _stream(self) -> AsyncIterator[bytes]:
        while (event := await self.events.get()) is not None:
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


async def test_a_worker_does_a_whole_task(tmp_path: Path) -> None:
    """A worker claims work, does it in a session of its own, reports each result, and closes the session."""
    sessions: list[planaria.Session] = []

    def sandboxed(context: AgentToolContext) -> Any:
        mount = planaria.Mount(context.workdir, "/project", "rw")
        sessions.append(planaria.Session(mounts=[mount]))
        return agent_toolset(sessions[-1], cwd="/project", closes_session=True)

    service = Service()
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(service.answer)) as http:
        client = AsyncAnthropic(api_key="not-used", base_url="http://service", http_client=http)
        worker = EnvironmentWorker(
            client,
            environment_id="env_1",
            environment_key="the-key",
            tools=sandboxed,
            workdir=str(tmp_path),
        )
        running = asyncio.create_task(worker.run())
        over = asyncio.create_task(service.is_over.wait())
        await asyncio.wait([running, over], return_when=asyncio.FIRST_COMPLETED, timeout=300)
        assert not running.done(), running.exception()
        running.cancel()
        await asyncio.wait([running])
    assert [one["tool_use_id"] for one in service.results] == [f"use_{n}" for n in range(len(TASK))]
    assert [number for number, one in enumerate(service.results) if one["is_error"]] == [2]
    texts = [one["content"][0]["text"] for one in service.results]
    assert "NameError: name 'price' is not defined" in texts[2]
    assert texts[3].startswith("/project/mean.py:3:")
    assert texts[6:] == [
        "the mean is 2.0",
        "/project/answer.txt\n/project/prices.txt",
        "the mean is 2.0\n",
    ]
    assert (tmp_path / "answer.txt").read_text() == "the mean is 2.0\n"
    assert len([one for one in service.requests if one.endswith("/stop")]) == 1
    [session] = sessions
    assert session.is_closed
