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
_FRAME: Final = "frame.html"
#: The query of a frame whose scripts run, and what lets them; libraries for drawing compile functions.
_SCRIPTS: Final = "scripts"
_ANY_SCRIPT: Final = "'unsafe-inline' 'unsafe-eval'"
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
def _frame() -> _Asset:
    """What the frames of outputs begin with."""
    _, assets = _assets()
    text = assets[_FRAME].content.decode()
    text = text.replace("{style}", assets["style/frame.css"].content.decode())
    return _asset("text/html", text.replace("{script}", assets["frame.js"].content.decode()).encode())


def _policy(host: str) -> str:
    """What the page may load: its own files, and of guests pictures that are in their output.

    Styles may stand in the text, for the page has its own there, and terminals and tables bring some.
    """
    assets = f"{host}{_ASSETS}/{_assets()[0]}/"
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {assets}",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            # Outputs, whose frames can go nowhere else either.
            f"frame-src {assets}{_FRAME}",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


def _frame_policy(*, runs: bool) -> str:
    """What guests have made may do in its frame, which has an origin of its own: be shown, and with `runs`
    execute the scripts that it has with it. It loads nothing.
    """
    digest = base64.b64encode(hashlib.sha256(_assets()[1]["frame.js"].content).digest()).decode()
    return "; ".join(
        (
            "sandbox allow-scripts",
            "default-src 'none'",
            "script-src " + (_ANY_SCRIPT if runs else f"'sha256-{digest}'"),
            "style-src 'unsafe-inline'",
            "img-src data: blob:",
            "font-src data:",
            "media-src data: blob:",
            *(["worker-src blob:"] if runs else []),
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'self'",
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
        headers = {**_HEADERS, "Cache-Control": "public, max-age=31536000, immutable"}
        if found is assets[_FRAME]:
            policy = _frame_policy(runs=request.url.query == _SCRIPTS)
            headers |= {"Content-Security-Policy": policy, "X-DNS-Prefetch-Control": "off"}
            found = _frame()
        return _response(request, found, headers)

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
