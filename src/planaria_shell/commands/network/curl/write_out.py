"""What `-w` prints after a transfer (https://curl.se/docs/manpage.html#-w)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from planaria_shell.commands.network.curl.request import VERSION
from planaria_shell.toolkit.invocation import Invocation

__all__ = ["Figures", "write_out"]

_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_INNER = ("headers", "is_refused")
_PART = re.compile(r"%%|%header\{([^}]*)\}|%\{([^}]*)\}|\\(.)", re.DOTALL)


@dataclass
class Figures:
    """What is known of a transfer; the names of its fields are those of `-w`."""

    url: str
    urlnum: int
    method: str = "GET"
    url_effective: str = ""
    scheme: str = ""
    http_code: int = 0
    http_version: str = "0"
    content_type: str | None = None
    num_headers: int = 0
    num_connects: int = 0
    num_redirects: int = 0
    num_retries: int = 0
    redirect_url: str | None = None
    referer: str | None = None
    size_header: int = 0
    size_download: int = 0
    size_upload: int = 0
    size_request: int = 0
    time_connect: float = 0.0
    time_starttransfer: float = 0.0
    time_redirect: float = 0.0
    time_total: float = 0.0
    remote_port: int = 0
    filename_effective: str | None = None
    exitcode: int = 0
    errormsg: str | None = None
    headers: list[tuple[str, str]] = field(default_factory=list)
    is_refused: bool = False
    """Whether nothing listens there."""

    def values(self) -> dict[str, object]:
        """All variables."""
        found: dict[str, object] = {name: value for name, value in vars(self).items() if name not in _INNER}
        seconds = self.time_total or 1e-6
        found |= {
            "response_code": self.http_code,
            "http_connect": 0,
            "ssl_verify_result": 0,
            "proxy_ssl_verify_result": 0,
            "speed_download": int(self.size_download / seconds),
            "speed_upload": int(self.size_upload / seconds),
            "time_namelookup": 0.0,
            "time_appconnect": self.time_connect if self.scheme == "https" else 0.0,
            "time_pretransfer": self.time_connect,
            "local_ip": "",
            "local_port": 0,
            "remote_ip": "",
        }
        return found


def _shown(name: str, value: object) -> str:
    if name in ("http_code", "response_code", "http_connect"):
        return f"{value:03}"
    if isinstance(value, float):
        return f"{value:.6f}"
    return "" if value is None else str(value)


def write_out(call: Invocation, template: str, figures: Figures) -> None:
    """Print the template with the variables in it."""
    values = figures.values()
    to_errors = False
    written = ""

    def flush() -> None:
        nonlocal written
        if to_errors:
            call.stdout.pass_on()
            call.stderr.write(written.encode("utf-8", "surrogateescape"))
        else:
            call.print(written, "")
        written = ""

    place = 0
    for found in _PART.finditer(template):
        written += template[place : found.start()]
        place = found.end()
        header, name, escape = found.groups()
        if header is not None:
            written += next((value for key, value in figures.headers if key.lower() == header.lower()), "")
        elif escape is not None:
            written += _ESCAPES.get(escape, f"\\{escape}")
        elif name is None:
            written += "%"
        elif name in ("stdout", "stderr"):
            flush()
            to_errors = name == "stderr"
        elif name == "onerror":
            if not figures.exitcode:
                break
        elif name == "json":
            everything = {**values, "curl_version": f"planaria/{VERSION}"}
            written += json.dumps(everything, sort_keys=True, separators=(",", ":"))
        elif name == "header_json":
            grouped: dict[str, list[str]] = {}
            for key, value in figures.headers:
                grouped.setdefault(key.lower(), []).append(value)
            lines = [
                f"{json.dumps(key)}:{json.dumps(found, separators=(',', ':'))}"
                for key, found in grouped.items()
            ]
            written += "{" + ",\n".join(lines) + "\n}"
        elif name in values:
            written += _shown(name, values[name])
        else:
            call.warn(f"curl: unknown --write-out variable: '{name}'")
    else:
        written += template[place:]
    flush()
