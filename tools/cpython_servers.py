"""Servers on the host for CPython's tests of clients, in place of those that the tests start themselves.

Nothing can listen in a session.

`LoopbackServers.functions()` are callbacks for the session, and `CLIENTS` is the code that has the tests call
them. The answers are those of the tests' own handlers, of the Python that runs this.
"""

from __future__ import annotations

import http.server
import itertools
import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import test.test_urllib2_localnet as localnet

__all__ = ["CLIENTS", "LoopbackServers"]

#: Has the tests start their servers on the host. A handler is known by what it is made of.
CLIENTS: Final = """
import email.message, socket
import test.support.socket_helper
import test.ssl_servers
import test.test_urllib2_localnet as localnet

class Answers:
    "What a test reads of its handler."
    def __init__(self, answers):
        self.answers, self.number = answers, None

    @property
    def requests(self):
        return servers.seen.call(self.number)[0]

    @property
    def headers_received(self):
        message = email.message.Message()
        for name, value in servers.seen.call(self.number)[1]:
            message[name] = value
        return message

class Server:
    def __init__(self, handler):
        import threading
        self.ready = threading.Event()
        self.ready.set()
        if isinstance(handler, Answers):
            self.number, self.port = servers.start.call("answers", handler.answers)
            handler.number = self.number
        elif handler.__name__ == "create_fake_proxy_handler":
            digest = handler.__closure__[0].cell_contents.digest_auth_handler
            self.number, self.port = servers.start.call("proxy", [digest._users, digest._realm_name])
            digest.set_qop = lambda qop: servers.set_qop.call(self.number, qop)
        else:
            self.number, self.port = servers.start.call("basic")

    def start(self):
        pass

    def stop(self):
        servers.stop.call(self.number)

def make_https_server(
    case, *, context=None, certfile=test.ssl_servers.CERTFILE, host=None, handler_class=None
):
    if context is not None:
        raise unittest.SkipTest("a server with a context of the test's is not there")
    certificate = os.path.basename(certfile)
    server = Server.__new__(Server)
    answers = None if handler_class is None else handler_class.answers
    kind = "nothing" if answers is None else "answers"
    server.number, server.port = servers.start.call(kind, answers, certificate)
    if handler_class is not None:
        handler_class.number = server.number
    case.addCleanup(server.stop)
    return server

def bind_port(sock, host="127.0.0.1"):
    return servers.start.call("silent")[1]

localnet.GetRequestHandler = Answers
localnet.LoopbackHttpServerThread = Server
test.ssl_servers.make_https_server = make_https_server
test.support.socket_helper.bind_port = bind_port
socket.socket.listen = lambda self, backlog=0: None
"""


class _Nothing(http.server.BaseHTTPRequestHandler):
    """Has nothing to answer with."""

    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, *arguments: object) -> None:
        pass


class LoopbackServers:
    """The servers that tests in a session have started; proxies among them have the port `proxy_port`."""

    def __init__(self, certificates: Path) -> None:
        self._certificates = certificates
        self._numbers = itertools.count()
        self._servers: dict[int, http.server.HTTPServer] = {}
        self._handlers: dict[int, Any] = {}
        self._sockets: list[socket.socket] = []
        with socket.create_server(("127.0.0.1", 0)) as found:
            self.proxy_port: int = found.getsockname()[1]

    def functions(self) -> list[dict[str, Any]]:
        """The callbacks."""
        functions: list[Callable[..., object]] = [self.start, self.stop, self.seen, self.set_qop]
        return [{"name": f"servers.{function.__name__}", "fn": function} for function in functions]

    def start(self, kind: str, argument: Any = None, certificate: str | None = None) -> tuple[int, int]:
        """Start a server; its number and port."""
        number = next(self._numbers)
        if kind == "silent":
            self._sockets.append(socket.create_server(("127.0.0.1", 0)))
            return number, self._sockets[-1].getsockname()[1]
        handler = self._handlers[number] = self._handler(kind, argument)
        address = ("127.0.0.1", self.proxy_port if kind == "proxy" else 0)
        server = self._servers[number] = http.server.ThreadingHTTPServer(
            address, handler.create if kind == "proxy" else handler
        )
        if certificate is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(self._certificates / certificate)
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        if kind == "answers":
            handler.port = server.server_port
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return number, server.server_port

    @staticmethod
    def _handler(kind: str, argument: Any) -> Any:
        match kind:
            case "answers":
                return localnet.GetRequestHandler([tuple(one) for one in argument])
            case "proxy":
                return _Proxy(*argument)
            case "basic":
                return localnet.BasicAuthHandler
            case _:
                return _Nothing

    def stop(self, number: int) -> None:
        """End a server."""
        server = self._servers.pop(number)
        server.shutdown()
        server.server_close()

    def seen(self, number: int) -> tuple[list[Any], list[tuple[str, str]]]:
        """The requests of a server with answers, and the headers of the last one."""
        handler = self._handlers[number]
        return handler.requests, list(dict(handler.headers_received).items())

    def set_qop(self, number: int, qop: str) -> None:
        """How a proxy protects what it asks passwords for."""
        self._handlers[number].digest.set_qop(qop)


class _Proxy:
    """A proxy that asks for a password."""

    def __init__(self, users: dict[str, str], realm: str) -> None:
        self.digest = localnet.DigestAuthHandler()
        self.digest.set_users(users)
        self.digest.set_realm(realm)

    def create(self, *arguments: Any) -> Any:
        """The handler of one request."""
        return localnet.FakeProxyHandler(self.digest, *arguments)
