"""One connection of the code: what it sends is read as HTTP/1.1, checked, and passed on to the server.

The code's side is a server to it (h11), the other a client of the real server (h11 again), so nothing that
the code wrote reaches the server but requests that were parsed, checked and written anew. TLS is between the
host and the server. Where a rule allows `tcp://`, and after an upgrade to WebSocket, bytes are passed on as
they are.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import re
import select
import ssl
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Final, NoReturn

import anyio
import h11
from anyio.abc import ByteStream, SocketAttribute

from planaria.errors import Suspend
from planaria.event_loops import EventLoop, running_loop
from planaria.network.answers import AnswerReader, failure_response
from planaria.network.budget import Budget
from planaria.network.byte_queue import ByteQueue
from planaria.network.forward_proxy import ForwardProxy, proxy_for
from planaria.network.hosts import canonical_host
from planaria.network.policy import Network, NetworkRequest
from planaria.network.requests import Body, by_proxy, forwarded, overriding, wants_upgrade
from planaria.network.rules import DEFAULT_PORTS, canonical_path
from planaria.network.secrets import IssuedValues
from planaria.network.upstream import connect, connect_by_proxy, start_tls

__all__ = ["Connection"]

_CHUNK: Final = 1 << 16
#: How much is read from a server at once: reads of the event loop's are no longer.
_MOST_READ: Final = 1 << 18
#: How much of an answer is kept before the code asks for it, and the part of `max_received` that it may take:
#: what is read ahead may never be asked for.
_AHEAD: Final = 2 << 20
_PART_AHEAD: Final = 16
#: The shortest wait that takes what is there already, in seconds.
_SHORTEST: Final = 0.002
#: What the code's side of TLS begins with, in both directions (`planaria_kernel/sandbox/modules/_ssl.py`).
_HELLO: Final = b"\x16planaria"
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::([0-9]{1,5}))?")
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
#: The longest head of a request.
_MOST_HEAD: Final = 1 << 18


class _TooEarly(Exception):
    """The code sent what belongs to the next request before the answer to the present one."""


class Connection:
    """A connection of the code to one host and port. Its methods raise OSErrors that the code shall see."""

    def __init__(self, policy: Network, budget: Budget, issued: IssuedValues, host: str, port: int) -> None:
        self._policy = policy
        self._budget = budget
        self._issued = issued
        self.host = host
        self.port = port
        self.tls = False
        self._is_raw = policy.is_raw(host, port)
        self._stream: ByteStream | None = None
        self._guest = h11.Connection(h11.SERVER, max_incomplete_event_size=_MOST_HEAD)
        self._server: h11.Connection | None = None
        #: Whether the server answers a further request on its connection.
        self._is_reusable = False
        #: The proxy that it goes by, and whether that sees no more than bytes.
        self._way: tuple[ForwardProxy | None, bool] = (None, False)
        self._answer: AnswerReader | None = None
        self._request: NetworkRequest | None = None
        #: A request that waits for a decision.
        self._held: h11.Request | None = None
        self._body = Body(None, ())
        self._started = 0.0
        #: When the answer has to be whole.
        self._due = math.inf
        #: When something was last sent to the server, or received.
        self._active = 0.0
        self._out = ByteQueue()
        self._ended = False
        #: Whether a read was given up, so that what the server sent since may be in the stream's own buffer.
        self._was_reading = False
        self._is_broken = False
        self._has_sent = False
        self._sending = anyio.Lock()
        self._receiving = anyio.Lock(fast_acquire=True)
        #: The task that reads ahead, and what it failed with, which the code gets after the data before it.
        self._reader: Future[None] | None = None
        self._failure: Exception | None = None
        #: Set when there may be something to read: an answer that is expected, or bytes of ours.
        self._asked = anyio.Event()

    async def open(self) -> None:
        """Connect, unless whether that is allowed is decided for each request."""
        # Whether there is a proxy for a request depends on its scheme.
        is_request = self._policy.proxy is not None or not self._policy.covers(self.host, self.port)
        if self._is_raw or not is_request:
            self._stream = await connect(self._policy, self.host, self.port)
            if self._is_raw:
                self._budget.record(NetworkRequest("CONNECT", f"tcp://{self.host}:{self.port}", allowed=True))

    async def _greet(self, data: bytes) -> None:
        """Encrypt the way to the server, and reply whether that is the one whose name the code expects."""
        problem = ""
        try:
            await self.encrypt(data[len(_HELLO) + 2 :].decode("utf-8", "replace"))
        except (PermissionError, ssl.SSLError) as error:
            problem = str(error)
        text = problem.encode()[:1000]
        self._out.extend([_HELLO + bytes([not problem]) + len(text).to_bytes(2) + text])
        self._asked.set()

    async def encrypt(self, name: str = "") -> None:
        """Encrypt the way to the server, which is `name` unless that is empty.

        Raises PermissionError, and ssl.SSLError for a server that could not be verified.
        """
        try:
            try:
                if name and canonical_host(name) != self.host:
                    raise PermissionError(f"the connection is to {self.host}, not to {name!r}")
            except ValueError as error:
                raise PermissionError(str(error)) from None
            if self.tls:
                raise PermissionError("TLS within TLS is not supported")
            if self._has_sent and not self._is_raw:
                raise PermissionError("TLS cannot begin after HTTP")
            self.tls = True
            if not self._is_raw and not self._may_encrypt():
                raise PermissionError(self._policy.refusal(f"https://{self._place()}/"))
            if self._stream is not None:
                self._stream = await start_tls(self._policy, self._stream, self.host)
        except (PermissionError, ssl.SSLError) as error:
            reason = error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else str(error)
            self._is_broken = self._ended = True
            self._budget.record(NetworkRequest("CONNECT", f"https://{self._place()}/", reason=reason))
            if isinstance(error, ssl.SSLError):
                raise ssl.SSLError(ssl.SSL_ERROR_SSL, reason) from None
            raise

    def _may_encrypt(self) -> bool:
        policy = self._policy
        return policy.on_request is not None or policy.covers_tls(self.host, self.port)

    @property
    def is_held(self) -> bool:
        """Whether a request waits for a decision."""
        return self._held is not None

    @property
    def is_raw(self) -> bool:
        """Whether bytes are passed on as they are."""
        return self._is_raw

    @property
    def is_idle(self) -> bool:
        """Whether there is neither a request that is not answered in full, nor bytes for the code."""
        return self._guest.our_state is self._guest.their_state is h11.IDLE and not self._out

    @property
    def is_answering(self) -> bool:
        """Whether an answer of the server's is on its way."""
        return self._answer is not None and not self._ended

    @property
    def is_unanswered(self) -> bool:
        """Whether a request has got nothing of an answer."""
        return self._guest.our_state is h11.SEND_RESPONSE

    def failure(self, status: int, reason: str) -> bytes:
        """An answer that says why there is none of the server's; nothing where that has begun already."""
        if self._is_raw or self._guest.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return b""
        has_body = self._request is None or self._request.method != "HEAD"
        return failure_response(self._guest, status, reason, has_body=has_body)

    async def close(self) -> None:
        """Close the connection to the server."""
        stream, self._stream = self._stream, None
        self._ended = True
        if self._reader is not None:
            self._reader.cancel()
        if stream is not None:
            await anyio.aclose_forcefully(stream)

    # -- what the code sends ---------------------------------------------------------------------------------

    async def send(self, data: bytes, *, may_greet: bool = True) -> None:
        """Pass on what the code sent: with `may_greet`, also the handshake of the sandbox's module ssl.

        Raises Suspend when `on_request` does; `decide` continues then.
        """
        async with self._sending:
            if self._is_broken:
                raise ConnectionResetError("the connection was closed after a request that failed")
            try:
                if may_greet and data.startswith(_HELLO):
                    await self._greet(data)
                else:
                    self._has_sent = True
                    self._budget.sent(len(data))
                    if self._is_raw:
                        await self._write(data)
                    else:
                        self._guest.receive_data(data)
                        await self._advance()
            except h11.RemoteProtocolError as error:
                self._refuse(f"the request is not valid HTTP/1.1: {error}", PermissionError)
            except _TooEarly as error:
                self._refuse_next(str(error))
            except Suspend:
                raise
            except Exception as error:
                self._fail(error)
                raise

    async def decide(self, decision: object) -> None:
        """Continue with a request that waited for a decision."""
        async with self._sending:
            held, self._held = self._held, None
            if held is None:
                raise ConnectionResetError("the connection of this request is no longer open")
            if decision is not True and not isinstance(decision, (str, Mapping)):
                decision = False
            try:
                await self._begin(held, decision)
                await self._advance()
            except h11.RemoteProtocolError as error:
                self._refuse(f"the request is not valid HTTP/1.1: {error}", PermissionError)
            except _TooEarly as error:
                self._refuse_next(str(error))
            except Exception as error:
                self._fail(error)
                raise

    async def _advance(self) -> None:
        if self._held is not None:
            self._limit_waiting()
            return
        while True:
            event = self._guest.next_event()
            match event:
                case h11.Request():
                    await self._check(event)
                case h11.Data(data=data):
                    assert self._request is not None
                    self._request.bytes_sent += len(data)
                    await self._send_all(self._body.add(event))
                case h11.EndOfMessage():
                    # What is sent from here on belongs to the next request.
                    await self._send_all(self._body.add(h11.EndOfMessage()))
                case _:
                    self._limit_waiting()
                    return

    def _limit_waiting(self) -> None:
        """Keep what was sent ahead of its time within limits."""
        waiting = len(self._guest.trailing_data[0])
        if waiting > 2 * _MOST_HEAD:
            raise _TooEarly(f"{waiting} bytes were sent before they can be passed on")
        if waiting and self._guest.their_state is h11.DONE and self._held is None:
            raise _TooEarly("a request was sent before the answer to the one before it")

    async def _check(self, event: h11.Request) -> None:
        """Find out whether a request may be made, and begin it."""
        target = event.target.decode("latin-1")
        scheme = self._scheme(event)
        self._request = request = NetworkRequest(
            event.method.decode(),
            f"{scheme}://{self._place()}{target}",
            [(name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers],
        )
        self._started = time.monotonic()
        self._budget.record(request)
        problem = self._problem(event)
        if problem:
            self._refuse(problem, PermissionError)
        method = request.method
        methods, targets = overriding(event)
        meanings = [(one, path) for one in (method, *methods) for path in (target, *targets)]
        place = (scheme, self.host, self.port)
        try:
            denied = any(self._policy.denies(*place, *one) for one in meanings)
            allowed = all(self._policy.allows(*place, *one) for one in meanings)
        except ValueError as error:
            self._refuse(str(error), PermissionError)
        if denied:
            self._refuse(f"{method} {request.url} is denied by a rule", PermissionError)
        decision: object = None
        if self._policy.on_request is not None:
            self._held = event
            decision = self._policy.on_request(request)
            if inspect.isawaitable(decision):
                decision = await decision
            self._held = None
        if decision is None and not allowed:
            taken = "".join(f" (which may be taken for {one})" for one in (methods + targets)[:1])
            self._refuse(self._policy.refusal(f"{method} {request.url}{taken}"), PermissionError)
        await self._begin(event, decision)

    def _scheme(self, event: h11.Request) -> str:
        scheme = "ws" if wants_upgrade(event) else "http"
        return scheme + "s" if self.tls else scheme

    def _place(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = DEFAULT_PORTS["https" if self.tls else "http"]
        return host if self.port == default else f"{host}:{self.port}"

    def _problem(self, event: h11.Request) -> str:
        """What is wrong with a request that is valid HTTP."""
        names = [name for name, _ in event.headers]
        if event.method == b"CONNECT":
            return "CONNECT is not allowed: the sandbox has no proxy"
        if event.http_version not in (b"1.0", b"1.1"):
            return f"HTTP/{event.http_version.decode()} is not available: only HTTP/1.1 is"
        if any(_CONTROL.search(value) for _, value in event.headers):
            return "a header has a control character in it"
        if b"#" in event.target:
            return "a request has no fragment (#) in its target"
        if b"transfer-encoding" in names and b"content-length" in names:
            return "a request has a Content-Length or a Transfer-Encoding, not both"
        hosts = [value.decode("latin-1") for name, value in event.headers if name == b"host"]
        found = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        try:
            is_host = found is not None and canonical_host(found[1]) == self.host
        except ValueError as error:
            return str(error)
        if found is None or not is_host or int(found[2] or self.port) != self.port:
            return f"the Host header {', '.join(hosts)!r} is not {self._place()}, which this connection is to"
        return ""

    async def _begin(self, event: h11.Request, decision: object) -> None:
        """Send the head of a request on which was decided."""
        request = self._request
        assert request is not None
        if decision is False or isinstance(decision, str):
            self._refuse(str(decision or f"{request.method} {request.url} was refused"), PermissionError)
        self._budget.count_request(request)
        headers = list(event.headers)
        if isinstance(decision, Mapping):
            try:
                headers = [
                    (name.lower().encode("ascii"), value.encode("latin-1"))
                    for name, value in decision.items()
                ]
            except (AttributeError, UnicodeError):
                self._refuse(
                    "the headers that on_request returned are not strings of Latin-1", PermissionError
                )
        scheme = request.url.partition("://")[0]
        path = canonical_path(event.target.decode("latin-1"))
        place = (scheme, self.host, self.port, request.method, path)
        values = [(one, one.current()) for one in self._policy.secrets if one.is_for(*place)]
        for one, value in values:
            self._issued.add(one.name, value)
        scrubber = self._issued.scrubber()
        try:
            proxy = proxy_for(self._policy.proxy, scheme, self.host, self.port)
        except ValueError as error:
            raise ConnectionRefusedError(f"the environment names no usable proxy: {error}") from None
        try:
            head = forwarded(event, headers, values, self._authority(event), is_scrubbed=scrubber.is_needed)
            if proxy is not None and scheme == "http":
                head = by_proxy(head, self._place(), proxy.authorization)
        except (h11.LocalProtocolError, UnicodeError):
            # The message of this error has the header in it, perhaps with a value.
            self._refuse("the headers to send are not valid HTTP/1.1", PermissionError)
        request.allowed = True
        self._due = anyio.current_time() + (self._policy.request_timeout or math.inf)
        with anyio.CancelScope(deadline=self._due) as scope:
            await self._ensure_server(proxy, is_tunnel=scheme != "http")
        if scope.cancelled_caught:
            raise self._took_too_long()
        assert self._server is not None
        self._answer = AnswerReader(self._guest, self._server, request, scrubber)
        self._body = Body(head, [(one.name, value) for one, value in values if one.in_body])
        await self._send_all(self._body.begin())
        self._asked.set()

    def _authority(self, event: h11.Request) -> bytes:
        """The Host header: what the code wrote, in canonical form."""
        [written] = [value.decode("latin-1") for name, value in event.headers if name == b"host"]
        host = f"[{self.host}]" if ":" in self.host else self.host
        found = _HOST.fullmatch(written)
        assert found is not None
        return (f"{host}:{self.port}" if found[2] else host).encode()

    async def _ensure_server(self, proxy: ForwardProxy | None, *, is_tunnel: bool) -> None:
        """A connection to the server that is ready for the next request."""
        server = self._server
        is_sent = server is not None and server.our_state is h11.DONE
        is_same = (proxy, is_tunnel) == self._way
        is_kept = is_sent and is_same and self._is_reusable and await self._is_alive()
        if server is not None and self._stream is not None and not is_kept:
            stream, self._stream = self._stream, None
            await anyio.aclose_forcefully(stream)
        if self._stream is None:
            if proxy is None:
                self._stream = await connect(self._policy, self.host, self.port)
            else:
                self._stream = await connect_by_proxy(
                    self._policy, proxy, self.host, self.port, is_tunnel=is_tunnel
                )
            if self.tls:
                self._stream = await start_tls(self._policy, self._stream, self.host)
            self._was_reading = False
        self._way = (proxy, is_tunnel)
        self._ended = self._is_reusable = False
        self._server = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MOST_HEAD)

    async def _is_alive(self) -> bool:
        """Whether an idle connection to the server is still open: no server speaks unasked."""
        if self._stream is None or self._ended:
            return False
        if not self._was_reading and not _has_input(self._stream):
            return True
        with anyio.move_on_after(_SHORTEST):
            await self._read_idle()
            return False
        return True

    async def _read_idle(self) -> None:
        assert self._stream is not None
        with contextlib.suppress(
            anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, ssl.SSLError
        ):
            await self._stream.receive(1)

    async def _send_all(self, events: Iterable[h11.Event]) -> None:
        """Write parts of a request to the server."""
        assert self._server is not None
        for event in events:
            data = self._server.send(event)
            if data:
                await self._write(data)

    async def _write(self, data: bytes) -> None:
        if self._stream is None:
            raise ConnectionResetError("the connection is closed")
        try:
            with anyio.fail_after(min(self._policy.timeout, self._due - anyio.current_time())):
                for start in range(0, len(data), _CHUNK):
                    await self._stream.send(data[start : start + _CHUNK])
            self._active = anyio.current_time()
        except TimeoutError:
            if anyio.current_time() >= self._due:
                raise self._took_too_long() from None
            raise TimeoutError(f"{self.host} took no data for {self._policy.timeout:g} s") from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._ended = True
            raise ConnectionResetError(f"{self.host} closed the connection") from None

    def _took_too_long(self) -> TimeoutError:
        limit = self._policy.request_timeout
        reason = f"the limit request_timeout={limit:g} s of a request to {self.host} is reached"
        self._break(reason)
        return TimeoutError(reason)

    def _refuse(self, reason: str, kind: type[OSError]) -> NoReturn:
        if self._request is None:
            self._request = NetworkRequest("?", f"{self._scheme_name()}://{self._place()}/")
            self._budget.record(self._request)
        self._request.allowed = False
        self._break(reason)
        raise kind(reason)

    def _refuse_next(self, reason: str) -> NoReturn:
        """Refuse what was sent too early; the answer to the request before it is the last one."""
        self._is_broken = True
        url = f"{self._scheme_name()}://{self._place()}/"
        self._budget.record(NetworkRequest("?", url, reason=reason))
        raise PermissionError(reason)

    def _break(self, reason: str) -> None:
        """Nothing further can be sent, and only what came already be received."""
        self._is_broken = self._ended = True
        if self._request is not None and not self._request.reason:
            self._request.reason = reason

    def _fail(self, error: Exception) -> None:
        self._held = None
        self._break(str(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}")

    def _scheme_name(self) -> str:
        return "https" if self.tls else "http"

    # -- what the server sends -------------------------------------------------------------------------------

    async def receive(self, size: int, seconds: float | None) -> bytes | None:
        """At most `size` bytes for the code, none at the end, None when there are none within `seconds`."""
        while await self._fill(seconds):
            data = self._out.take(size)
            if data or self._ended:
                self._read_ahead()
                return data
        return None

    def receive_at_once(self, size: int, loop: EventLoop) -> bytes:
        """What `receive` would return without waiting, or nothing; for threads other than that of the loop.

        A loop that is asked for each part would have the code and the network wait for each other.
        """
        data = self._out.take(size)
        if data and self._has_room() and (self._reader is None or self._reader.done()):
            loop.call_soon(self._read_ahead)
        return data

    @property
    def is_silent(self) -> bool:
        """Whether nothing can be received before the code sends something."""
        is_quiet = self._answer is None and not self._is_raw
        return is_quiet and not (self._out or self._ended or self._failure)

    async def receive_when_due(self, size: int) -> bytes:
        """As `receive`, for a side that listens all the time: the time is limited only while an answer is
        due.
        """
        while True:
            data = await self.receive(size, self._policy.timeout)
            if data is not None:
                return data
            is_due = self._answer is not None and not self._is_raw
            if is_due and anyio.current_time() - self._active >= self._policy.timeout:
                raise TimeoutError(f"{self.host} sent nothing for {self._policy.timeout:g} s")

    async def is_readable(self, seconds: float | None) -> bool:
        """Whether `receive` would return something at once, within so many seconds."""
        return await self._fill(seconds)

    async def _fill(self, seconds: float | None) -> bool:
        """Take from the server until there is something for the code, or its end (True)."""
        limit = self._policy.timeout if seconds is None else seconds
        deadline = anyio.current_time() + limit
        while not self._out:
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure
            if self._ended:
                return True
            left = max(_SHORTEST, deadline - anyio.current_time())
            is_late = True
            with anyio.move_on_after(left):
                async with self._receiving:
                    await self._read_on()
                is_late = False
            if is_late:
                self._was_reading = True
            if is_late and not self._out and not self._ended and anyio.current_time() >= deadline:
                if seconds is None:
                    raise TimeoutError(f"{self.host} sent nothing for {limit:g} s")
                return False
        return True

    def _read_ahead(self) -> None:
        """Go on reading an answer while the code works on what it has."""
        if self._has_room() and (self._reader is None or self._reader.done()):
            self._reader = running_loop().spawn(self._keep_reading())

    async def _keep_reading(self) -> None:
        try:
            while self._has_room():
                async with self._receiving:
                    await self._read_on(ahead=True)
        except Exception as error:
            self._failure = error

    def _has_room(self) -> bool:
        """Whether there is more of an answer to read ahead. What is not HTTP may turn into TLS at any time,
        and is read when the code asks for it.
        """
        if self._answer is None or self._is_raw or self._ended or self._failure is not None:
            return False
        return len(self._out) < min(_AHEAD, self._budget.receivable() // _PART_AHEAD)

    async def _read_on(self, *, ahead: bool = False) -> None:
        """Take what the server sends next, unless another task has done so."""
        if self._has_room() if ahead else not (self._out or self._ended or self._failure):
            data = None
            with anyio.CancelScope(deadline=self._due) as scope:
                data = await self._read()
            if data is not None:
                self._active = anyio.current_time()
                self._take(data)
            elif scope.cancelled_caught:
                raise self._took_too_long()

    async def _read(self) -> bytes | None:
        """What the server sent; None when it is time to look again."""
        stream = self._stream
        if stream is None or (self._answer is None and not self._is_raw):
            await self._asked.wait()  # an answer can only come after a request
            self._asked = anyio.Event()
            return None
        try:
            # What is read and not wanted counts too.
            part = self._budget.receivable() // _PART_AHEAD
            return await stream.receive(min(_MOST_READ, max(_CHUNK, part)))
        except anyio.EndOfStream:
            return b""
        except ssl.SSLError as error:
            raise ConnectionResetError(f"{self.host}: {error}") from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise ConnectionResetError(f"{self.host} closed the connection") from None

    def _take(self, data: bytes) -> None:
        try:
            self._budget.received(len(data))
        except PermissionError as error:
            self._break(str(error))
            raise
        if self._is_raw:
            self._out.extend([data])
            self._ended = not data
            return
        if self._answer is None:
            self._ended = not data  # without a request there is no answer
            return
        try:
            self._out.extend(self._answer.feed(data))
        except h11.ProtocolError as error:
            # After the colon is what the server sent, which may have a value in it.
            reason = f"{self.host} sent an answer that is not valid HTTP/1.1: {str(error).partition(':')[0]}"
            self._break(reason)
            raise ConnectionResetError(reason) from None
        if self._request is not None and self._answer.is_done:
            self._request.duration_ms = (time.monotonic() - self._started) * 1e3
            self._due = math.inf
            self._is_reusable = self._answer.is_reusable
        self._ended = self._answer.is_closed or (self._answer.is_done and self._is_broken)
        if self._answer.is_upgraded:
            self._is_raw = True
        if self._answer.is_done and not self._ended:
            self._next_cycle()

    def _next_cycle(self) -> None:
        """Both sides are through with a request: be ready for the next."""
        if self._guest.our_state is self._guest.their_state is h11.DONE:
            self._guest.start_next_cycle()
            self._answer = None


def _has_input(stream: ByteStream) -> bool:
    """Whether the socket under a stream has data or an end to read."""
    poll = select.poll()
    poll.register(stream.extra(SocketAttribute.raw_socket).fileno(), select.POLLIN)
    return bool(poll.poll(0))
