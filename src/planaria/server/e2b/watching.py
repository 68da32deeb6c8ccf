"""Directories of E2B's sandboxes that clients watch: `WatchDir`, and watchers that are asked for events.

Files change while something uses the session, so a directory is compared with what it was after each use.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

import anyio
from anyio import to_thread
from starlette.requests import Request
from starlette.routing import Route

from planaria.files.filesystem import FileKind, Stat
from planaria.files.view import Files
from planaria.server.e2b.files import absolute_path
from planaria.server.e2b.sandboxes import running
from planaria.server.e2b.wire import sandbox_of, stream_rpc, unary_rpc
from planaria.server.problems import Problem
from planaria.server.routes import Server
from planaria.server.settings import Token

__all__ = ["watch_routes"]

#: Watchers that a server has at most: the oldest is forgotten first.
_MOST: Final = 1000
#: So often a stream shows that it goes on, in seconds.
_KEEP_ALIVE: Final = 20.0
#: How often it is looked whether a sandbox that is not live is live again, in seconds.
_PAUSE: Final = 1.0

Event = dict[str, Any]
#: What a directory has: by name, what distinguishes contents and modes.
State = dict[str, Stat]


def _state(files: Files, path: str, recursive: bool) -> State:
    if not files.is_dir(path):
        if files.exists(path):
            raise Problem(400, f"{path} is not a directory")
        raise Problem(404, f"there is no directory {path}")
    found: State = {}
    pending = [""]
    while pending:
        folder = pending.pop()
        for name in files.listdir(f"{path}/{folder}"):
            inner = f"{folder}{name}"
            found[inner] = stat = files.stat(f"{path}/{inner}", follow=False)
            if recursive and stat.kind is FileKind.DIRECTORY:
                pending.append(f"{inner}/")
    return found


def _events(before: State, after: State) -> list[Event]:
    """What happened between two states, as inotify(7) would have reported it."""
    moved = {(one.device, one.inode): name for name, one in before.items() if name not in after}
    events = []
    for name, one in after.items():
        old = before.get(name)
        if old is None:
            origin = moved.pop((one.device, one.inode), None)
            if origin is not None:
                events.append(_event(origin, "RENAME"))
            events.append(_event(name, "CREATE"))
            if one.kind is FileKind.REGULAR and origin is None and one.size:
                events.append(_event(name, "WRITE"))
        elif one.kind is not FileKind.DIRECTORY and (old.mtime, old.size, old.inode) != (
            one.mtime,
            one.size,
            one.inode,
        ):
            events.append(_event(name, "WRITE"))
        elif old.mode != one.mode:
            events.append(_event(name, "CHMOD"))
    return events + [_event(name, "REMOVE") for name in moved.values()]


def _event(name: str, kind: str) -> Event:
    return {"name": name, "type": f"EVENT_TYPE_{kind}"}


@dataclass
class _Watcher:
    """A directory, and what it had when it was last looked at."""

    space: str
    sandbox: str
    path: str
    recursive: bool
    state: State

    async def news(self, server: Server, token: Token) -> list[Event]:
        """What has happened since."""
        async with running(server, token, self.sandbox) as named:
            after = await to_thread.run_sync(_state, named.session.files, self.path, self.recursive)
        events = _events(self.state, after)
        self.state = after
        return events


class _Watchers:
    """The watchers of a server."""

    def __init__(self) -> None:
        self._watchers: dict[str, _Watcher] = {}

    async def _make(self, server: Server, request: Request, token: Token, body: Any) -> _Watcher:
        sandbox, path, recursive = sandbox_of(request), absolute_path(body.get("path")), body.get("recursive")
        async with running(server, token, sandbox) as named:
            state = await to_thread.run_sync(_state, named.session.files, path, bool(recursive))
        return _Watcher(token.space, sandbox, path, bool(recursive), state)

    async def create(self, server: Server, request: Request, token: Token, body: Any) -> Event:
        number = secrets.token_hex(8)
        self._watchers[number] = await self._make(server, request, token, body)
        while len(self._watchers) > _MOST:
            del self._watchers[next(iter(self._watchers))]
        return {"watcherId": number}

    def _found(self, request: Request, token: Token, body: Any) -> str:
        number = str(body.get("watcherId"))
        watcher = self._watchers.get(number)
        if watcher is None or (watcher.space, watcher.sandbox) != (token.space, sandbox_of(request)):
            raise Problem(404, f"there is no watcher {number!r}")
        return number

    async def events(self, server: Server, request: Request, token: Token, body: Any) -> Event:
        watcher = self._watchers[self._found(request, token, body)]
        return {"events": await watcher.news(server, token)}

    async def remove(self, _server: Server, request: Request, token: Token, body: Any) -> Event:
        del self._watchers[self._found(request, token, body)]
        return {}

    async def watch(self, server: Server, request: Request, token: Token, body: Any) -> AsyncIterator[Event]:
        """Events as they come, until the client goes."""
        watcher = await self._make(server, request, token, body)
        yield {"start": {}}
        seen: object = None
        while True:
            live = server.sessions.present(token, watcher.sandbox)
            now = None if live is None else (live, live.changes)
            if now is not None and now != seen:
                seen = now
                for event in await watcher.news(server, token):
                    yield {"filesystem": event}
                continue
            with anyio.move_on_after(_PAUSE if live is None else _KEEP_ALIVE):
                await (anyio.sleep_forever() if live is None else live.next_change())
            yield {"keepalive": {}}


def watch_routes(server: Server) -> list[Route]:
    """The routes for watching."""
    watchers = _Watchers()
    return [
        stream_rpc(server, "/filesystem.Filesystem/WatchDir", watchers.watch),
        unary_rpc(server, "/filesystem.Filesystem/CreateWatcher", watchers.create),
        unary_rpc(server, "/filesystem.Filesystem/GetWatcherEvents", watchers.events),
        unary_rpc(server, "/filesystem.Filesystem/RemoveWatcher", watchers.remove),
    ]
