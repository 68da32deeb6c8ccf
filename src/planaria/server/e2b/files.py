"""Files of E2B's sandboxes: over HTTP, and as the RPCs of `filesystem.Filesystem`."""

from __future__ import annotations

import gzip
import io
import stat as stat_modes
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from anyio import to_thread
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope

from planaria.files.filesystem import FileKind
from planaria.files.view import Files
from planaria.server.e2b.sandboxes import running
from planaria.server.e2b.wire import daemon, sandbox_of, unary_rpc, unimplemented
from planaria.server.guard import read_body
from planaria.server.problems import Problem
from planaria.server.routes import Server
from planaria.server.settings import Token

__all__ = ["absolute_path", "file_routes", "health_route"]

T = TypeVar("T")

_HOME: Final = "/home/user"
_USERS: Final = ("", "user")
_KINDS: Final = {FileKind.DIRECTORY: "FILE_TYPE_DIRECTORY", FileKind.REGULAR: "FILE_TYPE_FILE"}


async def _with_files(
    server: Server, request: Request, token: Token, function: Callable[[Files], T], *, save: bool = False
) -> T:
    async with running(server, token, sandbox_of(request)) as named:
        result = await to_thread.run_sync(function, named.session.files)
        if save:
            await server.sessions.save(named)
        return result


def absolute_path(path: object) -> str:
    """A path as the daemon takes it: absolute, below the home directory or with a tilde. Raises Problem."""
    if not isinstance(path, str) or not path or "\0" in path:
        raise Problem(400, "path is missing")
    if path == "~" or path.startswith("~/"):
        path = _HOME + path[1:]
    # Not `normpath`: `..` after a link is not what comes before it.
    names = [name for name in path.split("/") if name not in ("", ".")]
    return ("" if path.startswith("/") else _HOME) + "".join(f"/{name}" for name in names) or "/"


def _check_user(request: Request) -> None:
    user = request.query_params.get("username", "")
    if user not in _USERS:
        raise Problem(401, f"there is no user {user!r}: everything belongs to 'user'")


# -- over HTTP -----------------------------------------------------------------------------------------------


async def _read(server: Server, request: Request, token: Token) -> Response:
    _check_user(request)
    path = absolute_path(request.query_params.get("path"))
    data = await _with_files(server, request, token, lambda files: files.read_bytes(path))
    return Response(data, media_type="application/octet-stream")


async def _write(server: Server, request: Request, token: Token) -> Response:
    """Write the body, or the files of a form, whose names are paths unless there is one in the query."""
    _check_user(request)
    if any(name.startswith("x-metadata-") for name in request.headers):
        raise unimplemented("files have no metadata of their own")
    given = request.query_params.get("path")
    contents: list[tuple[str, bytes]] = []
    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        async with request.form(max_part_size=token.body) as form:
            for part in form.getlist("file"):
                if isinstance(part, UploadFile):
                    path = absolute_path(given or part.filename)
                    contents.append((path, await part.read()))
    else:
        data = await read_body(request, token.body)
        if request.headers.get("content-encoding") == "gzip":
            data = _unzipped(data, token.body)
        contents.append((absolute_path(given), data))

    def write(files: Files) -> list[dict[str, Any]]:
        for path, data in contents:
            files.mkdir(path.rpartition("/")[0] or "/", parents=True, exist_ok=True)
            files.write_bytes(path, data)
        return [{"path": path, "name": path.rpartition("/")[2], "type": "file"} for path, _ in contents]

    return JSONResponse(await _with_files(server, request, token, write, save=True))


def _unzipped(data: bytes, most: int) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            found = stream.read(most + 1)
    except (OSError, EOFError) as error:
        raise Problem(400, f"the body is not gzip: {error}") from None
    if len(found) > most:
        raise Problem(413, f"the body has more than {most} bytes")
    return found


async def _health(server: Server, request: Request, token: Token) -> Response:
    async with running(server, token, sandbox_of(request)):
        return Response(status_code=204)


async def _environment(server: Server, request: Request, token: Token) -> Response:
    async with running(server, token, sandbox_of(request)) as named:
        return JSONResponse(named.record.env)


# -- RPCs ----------------------------------------------------------------------------------------------------


def _entry(files: Files, path: str) -> dict[str, Any]:
    """A file as `EntryInfo`; of a link, the type of what it leads to."""
    found = files.stat(path, follow=False)
    is_link = found.kind is FileKind.SYMBOLIC_LINK
    kind = files.stat(path).kind if is_link and files.exists(path) else found.kind
    entry = {
        "name": path.rstrip("/").rpartition("/")[2],
        "type": _KINDS.get(kind, "FILE_TYPE_UNSPECIFIED"),
        "path": path,
        "size": str(found.size),
        "mode": found.mode & 0o7777,
        "permissions": stat_modes.filemode(found.mode),
        "owner": "user",
        "group": "user",
        "modifiedTime": datetime.fromtimestamp(found.mtime / 1e9, UTC).isoformat().replace("+00:00", "Z"),
    }
    if is_link:
        entry["symlinkTarget"] = files.readlink(path)
        entry["isSymlink"] = True
    return entry


async def _stat(server: Server, request: Request, token: Token, body: Any) -> dict[str, Any]:
    path = absolute_path(body.get("path"))
    return {"entry": await _with_files(server, request, token, lambda files: _entry(files, path))}


async def _make_directory(server: Server, request: Request, token: Token, body: Any) -> dict[str, Any]:
    path = absolute_path(body.get("path"))

    def make(files: Files) -> dict[str, Any]:
        if files.exists(path):
            raise Problem(409, f"{path} exists", code="exists")
        files.mkdir(path, parents=True)
        return _entry(files, path)

    return {"entry": await _with_files(server, request, token, make, save=True)}


async def _move(server: Server, request: Request, token: Token, body: Any) -> dict[str, Any]:
    source, target = absolute_path(body.get("source")), absolute_path(body.get("destination"))

    def move(files: Files) -> dict[str, Any]:
        files.mkdir(target.rpartition("/")[0] or "/", parents=True, exist_ok=True)
        files.rename(source, target)
        return _entry(files, target)

    return {"entry": await _with_files(server, request, token, move, save=True)}


async def _list(server: Server, request: Request, token: Token, body: Any) -> dict[str, Any]:
    top = absolute_path(body.get("path")).rstrip("/") or "/"
    depth = int(body.get("depth") or 1)

    def look(files: Files) -> list[dict[str, Any]]:
        if not files.is_dir(top):
            if files.exists(top):
                raise Problem(400, f"{top} is not a directory")
            raise Problem(404, f"there is no directory {top}")
        entries: list[dict[str, Any]] = []
        pending = [(top, 1)]
        while pending:
            folder, level = pending.pop()
            for name in files.listdir(folder):
                path = f"{folder.rstrip('/')}/{name}"
                entries.append(_entry(files, path))
                if level < depth and files.is_dir(path) and not files.is_symlink(path):
                    pending.append((path, level + 1))
        return sorted(entries, key=lambda one: str(one["path"]))

    return {"entries": await _with_files(server, request, token, look)}


async def _remove(server: Server, request: Request, token: Token, body: Any) -> dict[str, Any]:
    path = absolute_path(body.get("path"))

    def remove(files: Files) -> None:
        if files.is_dir(path) and not files.is_symlink(path):
            files.rmtree(path)
        else:
            files.remove(path)

    await _with_files(server, request, token, remove, save=True)
    return {}


class _SandboxHealth(Route):
    """Matches requests for the health of a sandbox: others with this path ask for that of the server."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] == "http" and any(name == b"e2b-sandbox-id" for name, _ in scope["headers"]):
            return super().matches(scope)
        return Match.NONE, {}


def health_route(server: Server) -> Route:
    """The health of a sandbox, which comes before that of the server."""
    return _SandboxHealth("/health", daemon(server, "GET", "/health", _health).endpoint, methods=["GET"])


def file_routes(server: Server) -> list[Route]:
    """The routes for files."""
    rpcs = {
        "Stat": _stat,
        "MakeDir": _make_directory,
        "Move": _move,
        "ListDir": _list,
        "Remove": _remove,
    }
    return [
        daemon(server, "GET", "/files", _read),
        daemon(server, "POST", "/files", _write),
        daemon(server, "GET", "/envs", _environment),
        *(unary_rpc(server, f"/filesystem.Filesystem/{name}", one) for name, one in rpcs.items()),
    ]
