"""The page that `planaria serve --ui` shows: its files, which are in `ui/`, and how they are served."""

from __future__ import annotations

import base64
import gzip
import hashlib
import mimetypes
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.routing import Route as StarletteRoute

from planaria.server.problems import Problem
from planaria.server.routes import Server, problem_response

__all__ = ["page_routes"]

_FOLDER: Final = Path(__file__).parent / "ui"
_INDEX: Final = "index.html"
#: Where the files are, below the digest of all of them: what has changed has another address.
_ASSETS: Final = "/ui/assets"
#: What stands in the page itself; frames of outputs and the terminal have styles of their own.
_STYLES: Final = ("base", "layout", "notebook", "sessions", "panels")
#: How modules name those that they need.
_IMPORT: Final = re.compile(r'^(?:import .*?|} )from "\./([^"]+)";$', re.MULTILINE)
_TEXT: Final = frozenset({".css", ".html", ".js", ".json", ".svg", ".txt"})


@dataclass(frozen=True, slots=True)
class _Asset:
    """One file, ready to be sent."""

    media_type: str
    content: bytes
    compressed: bytes | None
    """By gzip, where that is worth it."""


def _asset(media_type: str, content: bytes) -> _Asset:
    compressed = gzip.compress(content, 6, mtime=0) if len(content) > 1000 else None
    return _Asset(f"{media_type}; charset=utf-8", content, compressed)


@cache
def _assets() -> tuple[str, dict[str, _Asset]]:
    """The files by their paths, and a digest of them."""
    found: dict[str, _Asset] = {}
    digest = hashlib.sha256()
    for path in sorted(_FOLDER.rglob("*")):
        if path.is_file() and path.suffix in _TEXT:
            name = path.relative_to(_FOLDER).as_posix()
            content = path.read_bytes()
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
            media_type = "text/javascript" if path.suffix == ".js" else mimetypes.guess_type(name)[0]
            found[name] = _asset(media_type or "text/plain", content)
    return digest.hexdigest()[:16], found


@cache
def _index() -> _Asset:
    """The page itself, with its styles, so that it is painted at once, and the addresses of its modules."""
    version, assets = _assets()
    styles = (assets[f"style/{name}.css"].content.decode() for name in _STYLES)
    preloads = (
        f'<link data-later href="{_ASSETS}/{version}/{name}">'
        for name in dict.fromkeys(_modules("main.js") + _modules("notebook.js"))
    )
    text = assets[_INDEX].content.decode()
    text = text.replace("{style}", "\n".join(styles)).replace("{preloads}", "\n".join(preloads))
    return _asset("text/html", text.replace("{assets}", f"{_ASSETS}/{version}").encode())


def _modules(first: str) -> list[str]:
    """A module and those that it needs before it runs."""
    _, assets = _assets()
    found = {first: True}
    pending = [first]
    while pending:
        name = pending.pop()
        for one in _IMPORT.findall(assets[name].content.decode()):
            path = (PurePosixPath(name).parent / one).as_posix()
            if path not in found:
                found[path] = True
                pending.append(path)
    return list(found)


@cache
def _frame_digest() -> str:
    """The digest of the only script that may stand in a text: the one of the frames of outputs."""
    return base64.b64encode(hashlib.sha256(_assets()[1]["frame.js"].content).digest()).decode()


def _policy(host: str) -> str:
    """What the page may load: its own files, and of guests pictures that are in their output.

    Frames with what guests have made inherit it: no script runs there but the one that measures their height.
    Styles may stand in the text, for terminals and tables bring some.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {host}{_ASSETS}/ 'sha256-{_frame_digest()}'",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "frame-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def page_routes(server: Server) -> list[BaseRoute]:
    """The page at "/", and its files. They need no token; what the page asks for does."""

    async def index(request: Request) -> Response:
        try:
            server.guard.check_host(request)
        except Problem as problem:
            return problem_response(problem)
        tag = f'"{_assets()[0]}"'
        headers = {
            **_HEADERS,
            "Content-Security-Policy": _policy(request.headers["host"]),
            "Cache-Control": "no-cache",
            "ETag": tag,
        }
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return _response(request, _index(), headers)

    async def asset(request: Request) -> Response:
        try:
            server.guard.check_host(request)
        except Problem as problem:
            return problem_response(problem)
        version, assets = _assets()
        found = assets.get(request.path_params["name"])
        if found is None or request.path_params["version"] != version:
            return problem_response(Problem(404, f"there is no {request.url.path}; load the page again"))
        return _response(request, found, {**_HEADERS, "Cache-Control": "public, max-age=31536000, immutable"})

    return [
        StarletteRoute("/", index, methods=["GET"]),
        StarletteRoute(f"{_ASSETS}/{{version}}/{{name:path}}", asset, methods=["GET"]),
    ]


def _response(request: Request, found: _Asset, headers: dict[str, str]) -> Response:
    """A file, compressed for those who take that."""
    headers = {**headers, "Content-Type": found.media_type, "Vary": "Accept-Encoding"}
    if found.compressed is None or "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(found.content, headers=headers)
    return Response(found.compressed, headers={**headers, "Content-Encoding": "gzip"})
