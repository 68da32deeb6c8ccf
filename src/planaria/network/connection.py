"""One connection of the code: what it sends is read as HTTP/1.1, checked, and passed on to the server.

The code's side is a server to it (h11), the other a client of the real server (h11 again), so nothing that
the code wrote reaches the server but requests that were parsed, checked and written anew. TLS is between the
host and the server. Where a rule allows `tcp://`, and after an upgrade to WebSocket, bytes are passed on as
they are.
"""

from __future__ import annotations

import inspect
import math
import ssl
import threading
import time
from collections.abc import Awaitable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NoReturn, TypeVar

import anyio
import h11

from planaria.errors import Suspend
from planaria.event_loops import EventLoop
from planaria.network.admission import Destination, judged, problem
from planaria.network.answers import AnswerReader, failure_response
from planaria.network.budget import Budget
from planaria.network.byte_queue import ByteQueue
from planaria.network.hosts import canonical_host
from planaria.network.policy import Network, NetworkRequest
from planaria.network.proxy_settings import ForwardProxy, proxy_for
from planaria.network.requests import Body, by_proxy, forwarded, wants_upgrade
from planaria.network.rules import canonical_path
from planaria.network.secrets import IssuedValues
from planaria.network.upstream import Upstream

__all__ = ["Connection"]

T = TypeVar("T")

#: How much is read from a server at once: at least, where `max_received` is near, and at most; and the part
#: of `max_received` that it may be, since what is read may never be asked for.
_LEAST_READ: Final = 1 << 16
_MOST_READ: Final = 1 << 20
_PART_READ: Final = 16
#: How long a thread waits for a server by itself before it leaves that to the event loop, in seconds: there
#: the wait can be stopped.
_MOMENT: Final = 0.005
#: The shortest wait that takes what is there already, in seconds.
_SHORTEST: Final = 0.002
#: The longest data that is sent without the event loop.
_MOST_SENT: Final = 1 << 16
#: What the code's side of TLS begins with, in both directions (`planaria_kernel/sandbox/modules/_ssl.py`).
_HELLO: Final = b"\x16planaria"
#: The longest head of a request.
_MOST_HEAD: Final = 1 << 18


def _run_through(coroutine: Coroutine[object, object, None]) -> None:
    """Run a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise AssertionError("a request that nothing had to be waited for waits")


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
        self._is_raw = policy.is_raw(host, port)
        self._destination = Destination(host, port)
        self._upstream = Upstream(policy, host, port)
        self._guest = h11.Connection(h11.SERVER, max_incomplete_event_size=_MOST_HEAD)
        self._server: h11.Connection | None = None
        #: Whether the server answers a further request on its connection.
        self._is_reusable = False
        self._answer: AnswerReader | None = None
        self._request: NetworkRequest | None = None
        #: A request that waits for a decision.
        self._held: h11.Request | None = None
        self._body = Body(None, ())
        self._started = 0.0
        #: When the answer has to be whole.
        self._due = math.inf
        #: When something was last sent to the server, or received, by the monotonic clock.
        self._active = 0.0
        self._out = ByteQueue()
        self._ended = False
        self._is_broken = False
        self._has_sent = False
        self._sending = anyio.Lock(fast_acquire=True)
        self._receiving = anyio.Lock(fast_acquire=True)
        #: What receiving failed with, which the code gets after the data before it.
        self._failure: Exception | None = None
        #: Either tasks of the event loop use the connection, so many, or the thread that holds this lock.
        self._gate = threading.Lock()
        self._tasks = 0
        #: Whether that thread sends, which waits for nothing.
        self._is_prompt = False
        #: Set when there may be something to read: an answer that is expected, or bytes of ours.
        self._asked = anyio.Event()

    @contextmanager
    def _on_loop(self) -> Iterator[None]:
        """While a task of the event loop uses the connection."""
        with self._gate:
            self._tasks += 1
        try:
            yield
        finally:
            with self._gate:
                self._tasks -= 1

    async def open(self) -> None:
        """Connect, unless whether that is allowed is decided for each request."""
        # Whether there is a proxy for a request depends on its scheme.
        is_direct = self._policy.proxy is None and self._policy.covers(self.host, self.port)
        if self._is_raw or is_direct:
            with self._on_loop():
                await self._upstream.open()
            if self._is_raw:
                self._budget.record(NetworkRequest("CONNECT", f"tcp://{self.host}:{self.port}", allowed=True))

    async def _greet(self, data: bytes) -> None:
        """Encrypt the way to the server, and reply whether that is the one whose name the code expects: with
        its certificate, or the reason.
        """
        is_verified = True
        try:
            await self.encrypt(data[len(_HELLO) + 2 :].decode("utf-8", "replace"))
            details = self._upstream.certificate()
        except (PermissionError, ssl.SSLError) as error:
            is_verified, details = False, str(error).encode()[:1000]
        self._out.extend([_HELLO + bytes([is_verified]) + len(details).to_bytes(2) + details])
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
            self._upstream.tls = True
            if not self._is_raw and not self._may_encrypt():
                raise PermissionError(self._policy.refusal(f"https://{self._authority()}/"))
            await self._upstream.encrypt()
        except (PermissionError, ssl.SSLError) as error:
            reason = error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else str(error)
            self._is_broken = self._ended = True
            self._budget.record(NetworkRequest("CONNECT", f"https://{self._authority()}/", reason=reason))
            if isinstance(error, ssl.SSLError):
                raise ssl.SSLError(ssl.SSL_ERROR_SSL, reason) from None
            raise

    def _may_encrypt(self) -> bool:
        policy = self._policy
        return policy.on_request is not None or policy.covers_tls(self.host, self.port)

    @property
    def tls(self) -> bool:
        """Whether the way to the server is encrypted."""
        return self._upstream.tls

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
        with self._on_loop():
            self._ended = True
            await self._upstream.close()

    # -- what the code sends ---------------------------------------------------------------------------------

    async def send(self, data: bytes, *, may_greet: bool = True) -> None:
        """Pass on what the code sent: with `may_greet`, also the handshake of the sandbox's module ssl.

        Raises Suspend when `on_request` does; `decide` continues then.
        """
        with self._on_loop():
            async with self._sending:
                await self._pass_to_server(data, may_greet=may_greet)

    async def _pass_to_server(self, data: bytes, *, may_greet: bool) -> None:
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
        with self._on_loop():
            async with self._sending:
                await self._decide(decision)

    async def _decide(self, decision: object) -> None:
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
        scheme = ("ws" if wants_upgrade(event) else "http") + ("s" if self.tls else "")
        self._request = request = NetworkRequest(
            event.method.decode(),
            f"{scheme}://{self._authority()}{target}",
            [(name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers],
        )
        self._started = time.monotonic()
        self._budget.record(request)
        wrong = problem(event, self._destination, tls=self.tls)
        if wrong:
            self._refuse(wrong, PermissionError)
        try:
            verdict = judged(self._policy, event, self._destination, request.url)
        except ValueError as error:
            self._refuse(str(error), PermissionError)
        if verdict.denial:
            self._refuse(verdict.denial, PermissionError)
        decision: object = None
        if self._policy.on_request is not None:
            self._held = event
            decision = self._policy.on_request(request)
            if inspect.isawaitable(decision):
                decision = await decision
            self._held = None
        if decision is None and verdict.refusal:
            self._refuse(verdict.refusal, PermissionError)
        await self._begin(event, decision)

    def _authority(self) -> str:
        return self._destination.authority(tls=self.tls)

    async def _begin(self, event: h11.Request, decision: object) -> None:
        """Send the head of a request on which was decided."""
        request = self._request
        assert request is not None
        if decision is False or isinstance(decision, str):
            self._refuse(str(decision or f"{request.method} {request.url} was refused"), PermissionError)
        self._budget.count_request(request)
        headers = event.headers.raw_items()
        if isinstance(decision, Mapping):
            try:
                headers = [
                    (name.encode("ascii"), value.encode("latin-1")) for name, value in decision.items()
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
            head = forwarded(
                event, headers, values, self._destination.host_header(event), is_scrubbed=scrubber.is_needed
            )
            if proxy is not None and scheme == "http":
                head = by_proxy(head, self._authority(), proxy.authorization)
        except (h11.LocalProtocolError, UnicodeError):
            # The message of this error has the header in it, perhaps with a value.
            self._refuse("the headers to send are not valid HTTP/1.1", PermissionError)
        request.allowed = True
        if self._policy.request_timeout is not None:
            self._due = anyio.current_time() + self._policy.request_timeout
        await self._in_time(self._ensure_server(proxy, is_tunnel=proxy is not None and scheme != "http"))
        assert self._server is not None
        self._answer = AnswerReader(self._guest, self._server, request, scrubber)
        self._body = Body(head, [(one.name, value) for one, value in values if one.in_body])
        await self._send_all(self._body.begin())
        self._asked.set()

    async def _ensure_server(self, proxy: ForwardProxy | None, *, is_tunnel: bool) -> None:
        """A connection to the server that is ready for the next request."""
        server = self._server
        if server is not None and not (
            self._is_reusable
            and server.our_state is h11.DONE
            and not self._ended
            and self._upstream.goes_by(proxy, is_tunnel=is_tunnel)
            and (self._is_prompt or self._upstream.is_alive())
        ):
            await self._upstream.close()
        try:
            await self._upstream.open(proxy, is_tunnel=is_tunnel)
        except ssl.SSLCertVerificationError as error:
            raise ConnectionAbortedError(error.verify_message) from None
        except ssl.SSLError as error:
            raise ConnectionResetError(f"{self.host}: {error}") from None
        self._ended = self._is_reusable = False
        self._server = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MOST_HEAD)

    async def _send_all(self, events: Iterable[h11.Event]) -> None:
        """Write parts of a request to the server."""
        assert self._server is not None
        for event in events:
            data = self._server.send(event)
            if data:
                await self._write(data)

    async def _write(self, data: bytes) -> None:
        try:
            self._upstream.write_nowait(data)
            if self._upstream.has_unsent and not self._is_prompt:
                await self._in_time(self._upstream.flush())
        except ConnectionResetError:
            self._ended = True
            raise
        self._active = time.monotonic()

    async def _in_time(self, work: Awaitable[T]) -> T:
        """Await work until the answer has to be whole. Raises TimeoutError."""
        if self._due == math.inf:
            return await work
        with anyio.CancelScope(deadline=self._due):
            return await work
        raise self._took_too_long()

    def _took_too_long(self) -> TimeoutError:
        limit = self._policy.request_timeout
        reason = f"the limit request_timeout={limit:g} s of a request to {self.host} is reached"
        self._break(reason)
        return TimeoutError(reason)

    def _refuse(self, reason: str, kind: type[OSError]) -> NoReturn:
        if self._request is None:
            self._request = NetworkRequest("?", f"{self._scheme_name()}://{self._authority()}/")
            self._budget.record(self._request)
        self._request.allowed = False
        self._break(reason)
        raise kind(reason)

    def _refuse_next(self, reason: str) -> NoReturn:
        """Refuse what was sent too early; the answer to the request before it is the last one."""
        self._is_broken = True
        url = f"{self._scheme_name()}://{self._authority()}/"
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
        with self._on_loop():
            while await self._fill(seconds):
                data = self._out.take(size)
                if data or self._ended:
                    return data
        return None

    # -- on the thread that the code runs on -----------------------------------------------------------------

    def receive_at_once(self, size: int, seconds: float) -> bytes:
        """What `receive` would return within `seconds`, or nothing: then `receive` finds out why.

        A moment is all that is waited for. A loop that is asked for each part would have the code and the
        network wait for each other.
        """
        deadline = time.monotonic() + min(seconds, _MOMENT)
        while True:
            with self._gate:
                if self._out:
                    return self._out.take(size)
                if self._tasks or not self._is_answer_near():
                    return b""
                self._read_nowait()
                if self._out or self._ended or self._failure is not None:
                    continue
            left = deadline - time.monotonic()
            if left <= 0:
                return b""
            self._upstream.wait_for_input(left)

    def send_at_once(self, data: bytes, loop: EventLoop) -> bool:
        """Do what `send` does, where it has nothing to wait for. Raises what that raises."""
        with self._gate:
            if self._tasks or not self._can_send_at_once(data):
                return False
            self._is_prompt = True
            try:
                _run_through(self._pass_to_server(data, may_greet=False))
            finally:
                self._is_prompt = False
                if self._upstream.has_unsent:
                    loop.spawn(self._flush())
        return True

    def _is_answer_near(self) -> bool:
        """Whether the server's answer can be read by any thread."""
        is_due = self._answer is not None or self._is_raw
        is_fine = not (self._ended or self._failure) and self._due == math.inf
        return is_due and is_fine and self._upstream.is_direct and not self._upstream.has_unsent

    def _can_send_at_once(self, data: bytes) -> bool:
        """Whether nothing that a request may call is the user's, and the server is connected."""
        upstream, policy = self._upstream, self._policy
        if len(data) > _MOST_SENT or data.startswith(_HELLO) or upstream.has_unsent or self._ended:
            return False
        if not (upstream.is_direct and upstream.goes_by(None, is_tunnel=False)):
            return False
        if self._is_raw or self._guest.their_state is not h11.IDLE:
            return True
        is_plain = policy.on_request is None and policy.request_timeout is None and policy.proxy is None
        is_constant = not any(callable(one.value) for one in policy.secrets)
        is_ready = self._server is None or (self._is_reusable and self._server.our_state is h11.DONE)
        return is_plain and is_constant and is_ready and upstream.is_alive()

    async def _flush(self) -> None:
        with self._on_loop():
            async with self._sending:
                try:
                    await self._in_time(self._upstream.flush())
                except Exception as error:
                    self._failure = error
                    self._fail(error)

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
            if is_due and time.monotonic() - self._active >= self._policy.timeout:
                raise TimeoutError(f"{self.host} sent nothing for {self._policy.timeout:g} s")

    async def is_readable(self, seconds: float | None) -> bool:
        """Whether `receive` would return something at once, within so many seconds."""
        with self._on_loop():
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
            if self._due <= anyio.current_time():
                raise self._took_too_long()
            if not self._receiving.locked() and self._read_nowait():
                continue
            # What is within TLS within TLS cannot be had without waiting.
            left = max(deadline - anyio.current_time(), 0.0 if self._upstream.is_direct else _SHORTEST)
            with anyio.move_on_after(left):
                async with self._receiving:
                    await self._read_on()
            if self._out or self._ended or self._failure is not None or anyio.current_time() < deadline:
                continue
            if seconds is None:
                raise TimeoutError(f"{self.host} sent nothing for {limit:g} s")
            return False
        return True

    async def _read_on(self) -> None:
        """Take what the server sends next, unless another task has done so."""
        if self._out or self._ended or self._failure is not None:
            return
        if not self._upstream.is_open or (self._answer is None and not self._is_raw):
            await self._asked.wait()  # an answer can only come after a request
            self._asked = anyio.Event()
            return
        data = await self._in_time(self._upstream.receive(self._most_read()))
        self._active = time.monotonic()
        self._take(data)

    def _read_nowait(self) -> bool:
        """Take what the server has sent already; whether there was anything. An error is kept."""
        if not self._upstream.is_open or (self._answer is None and not self._is_raw):
            return False
        try:
            data = self._upstream.receive_nowait(self._most_read())
            if data is None:
                return False
            self._active = time.monotonic()
            self._take(data)
        except Exception as error:
            self._failure = error
        return True

    def _most_read(self) -> int:
        # What is read and not wanted counts too.
        return min(_MOST_READ, max(_LEAST_READ, self._budget.receivable() // _PART_READ))

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
