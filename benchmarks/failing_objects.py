"""An S3 server of our own (moto's) that answers some requests with errors."""

from __future__ import annotations

import http.client
import logging
import random
import threading
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlencode

__all__ = ["FailingObjects"]

_BUCKET = "sessions"


class FailingObjects:
    """A server with one bucket. Of its answers the share `failing` are errors; half of these requests were
    carried out all the same.
    """

    def __init__(self, failing: float, seed: int = 1) -> None:
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._random = random.Random(seed)
        self._failing = 0.0
        self.requests = self.errors = 0
        # One request at a time: moto's conditional puts are not atomic.
        self._server = make_server("127.0.0.1", 0, self._answer)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        connection = http.client.HTTPConnection("127.0.0.1", self._server.server_port)
        connection.request("PUT", f"/{_BUCKET}")
        if connection.getresponse().status != 200:
            raise RuntimeError("the bucket could not be created")
        connection.close()
        self._failing = failing
        options = {
            "endpoint": f"http://127.0.0.1:{self._server.server_port}",
            "region": "us-east-1",
            "access_key_id": "none",
            "secret_access_key": "none",
        }
        self.url = f"s3://{_BUCKET}/pool?{urlencode(options)}"

    def _answer(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        self.requests += 1
        if self._random.random() >= self._failing:
            answer: Iterable[bytes] = self._moto(environ, start_response)
            return answer
        self.errors += 1
        if self._random.random() < 0.5:
            b"".join(self._moto(environ, lambda status, headers, error=None: None))
        else:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start_response("503 Slow Down", [("Content-Length", "0")])
        return [b""]

    def stop(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._server.server_close()
