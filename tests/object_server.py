"""An S3 of our own for tests: moto's, one request at a time, since its conditional puts are not atomic."""

from __future__ import annotations

import logging
import threading

import httpx
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

__all__ = ["ObjectServer"]

_BUCKET = "snapshots"


class ObjectServer:
    """A server on a free port of this machine, with one bucket."""

    def __init__(self) -> None:
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        self.bucket = f"s3://{_BUCKET}"
        httpx.put(f"{self.endpoint}/{_BUCKET}", timeout=60).raise_for_status()

    @property
    def options(self) -> dict[str, str]:
        """What a client needs to know, as options of obstore."""
        return {
            "endpoint": self.endpoint,
            "region": "us-east-1",
            "access_key_id": "test",
            "secret_access_key": "test",
        }

    def stop(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
