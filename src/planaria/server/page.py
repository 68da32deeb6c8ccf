"""The page that `planaria serve --ui` shows: its files, which are in `ui/`, and how they are served."""

from __future__ import annotations

import base64
import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path
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
_TEXT: Final = frozenset({".css", ".html", ".js", ".json", ".svg", ".txt"})


@dataclass(frozen=True, slots=True)
class _Asset:
    """One file, ready to be sent."""

    media_type: str
    content: bytes
    compressed: bytes | None
    """By gzip, where that is worth it."""


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
            squeezed = gzip.compress(content, 6, mtime=0) if len(content) > 1000 else None
            found[name] = _Asset(f"{media_type or 'text/plain'}; charset=utf-8", content, squeezed)
    return digest.hexdigest()[:16], found


@cache
def _index() -> bytes:
    """The page itself, with the addresses of its files."""
    version, assets = _assets()
    later = {"frame.js", "vendor/xterm.js"}
    modules = sorted(name for name in assets if name.endswith(".js") and name not in later)
    preloads = "\n".join(
        f'<link rel="modulepreload" href="{_ASSETS}/{version}/{name}">'
        for name in modules
        if name != "frame.js"
    )
    text = assets[_INDEX].content.decode()
    return text.replace("{assets}", f"{_ASSETS}/{version}").replace("{preloads}", preloads).encode()


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
        content, tag = _index(), f'"{_assets()[0]}"'
        headers = {
            **_HEADERS,
            "Content-Security-Policy": _policy(request.headers["host"]),
            "Cache-Control": "no-cache",
            "ETag": tag,
        }
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type="text/html", headers=headers)

    async def asset(request: Request) -> Response:
        try:
            server.guard.check_host(request)
        except Problem as problem:
            return problem_response(problem)
        version, assets = _assets()
        found = assets.get(request.path_params["name"])
        if found is None or request.path_params["version"] != version:
            return problem_response(Problem(404, f"there is no {request.url.path}; load the page again"))
        headers = {
            **_HEADERS,
            "Cache-Control": "public, max-age=31536000, immutable",
            "Vary": "Accept-Encoding",
        }
        content = found.content
        if found.compressed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            content = found.compressed
            headers["Content-Encoding"] = "gzip"
        return Response(content, headers={**headers, "Content-Type": found.media_type})

    return [
        StarletteRoute("/", index, methods=["GET"]),
        StarletteRoute(f"{_ASSETS}/{{version}}/{{name:path}}", asset, methods=["GET"]),
    ]
