"""One connection of the code: what it sends is read as HTTP/1.1, checked, and passed on to the server.

The code's side is a server to it (h11), the other a client of the real server (h11 again), so nothing that
the code wrote reaches the server but requests that were parsed, checked and written anew. TLS is between the
host and the server. Where a rule allows `tcp://`, and after an upgrade to WebSocket, bytes are passed on as
they are.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Coroutine, Iterable, Mapping
from typing import Final, NoReturn

import anyio
import h11

from planaria.errors import Suspend
from planaria.event_loops import EventLoop
from planaria.network.admission import Destination, judged, may_carry, problem
from planaria.network.answers import AnswerReader, failure_response
from planaria.network.budget import Account
from planaria.network.decisions import decided
from planaria.network.hosts import canonical_host
from planaria.network.incoming import Incoming
from planaria.network.outgoing import Outgoing
from planaria.network.passing import MOST_HEAD, PassedBody, passed_length, without_body
from planaria.network.policy import Network, NetworkRequest
from planaria.network.proxy_settings import ForwardProxy, proxy_for
from planaria.network.requests import Body, by_proxy, forwarded, wants_upgrade
from planaria.network.secrets import IssuedValues
from planaria.network.turns import Turns
from planaria.network.upstream import Upstream

__all__ = ["Connection"]

#: The longest data that is sent without the event loop.
_MOST_SENT: Final = 1 << 18
#: What the code's side of TLS begins with, in both directions (`planaria_kernel/sandbox/modules/_ssl.py`).
_HELLO: Final = b"\x16planaria"


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

    def __init__(self, policy: Network, budget: Account, issued: IssuedValues, host: str, port: int) -> None:
        self._policy = policy
        self._budget = budget
        self._issued = issued
        self.host = host
        self.port = port
        self._destination = Destination(host, port)
        self._upstream = Upstream(policy, host, port)
        self._turns = Turns()
        is_raw = policy.is_raw(host, port)
        self.incoming = Incoming(policy, budget, self._upstream, host, self._turns, self._note, is_raw=is_raw)
        """What the server sends."""
        self._outgoing = Outgoing(budget, self._upstream, self.incoming, self._turns, self._fail)
        self._guest = h11.Connection(h11.SERVER, max_incomplete_event_size=MOST_HEAD)
        self._server: h11.Connection | None = None
        self._request: NetworkRequest | None = None
        #: A request that waits for a decision.
        self._held: h11.Request | None = None
        self._body = Body(None, ())
        #: What went wrong without the code knowing, which its next `send` raises.
        self._failure: Exception | None = None
        self._started = 0.0
        self._has_sent = False

    async def open(self) -> None:
        """Connect, unless whether that is allowed is decided for each request."""
        # Whether there is a proxy for a request depends on its scheme.
        is_direct = self._policy.proxy is None and self._policy.covers(self.host, self.port)
        if self.incoming.is_raw or is_direct:
            with self._turns.of_task():
                await self._upstream.open()
            if self.incoming.is_raw:
                self._record(NetworkRequest("CONNECT", f"tcp://{self.host}:{self.port}", allowed=True))

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
        self.incoming.add(_HELLO + bytes([is_verified]) + len(details).to_bytes(2) + details)

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
            if self._has_sent and not self.incoming.is_raw:
                raise PermissionError("TLS cannot begin after HTTP")
            self._upstream.tls = True
            if not self.incoming.is_raw and not self._may_encrypt():
                raise PermissionError(self._policy.refusal(f"https://{self._authority()}/"))
            await self._upstream.encrypt()
        except (PermissionError, ssl.SSLError) as error:
            reason = error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else str(error)
            self.incoming.is_broken = self.incoming.is_ended = True
            self._record(NetworkRequest("CONNECT", f"https://{self._authority()}/", reason=reason))
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
        return self.incoming.is_raw

    @property
    def is_idle(self) -> bool:
        """Whether there is neither a request that is not answered in full, nor bytes for the code."""
        return self._guest.our_state is self._guest.their_state is h11.IDLE and not self.incoming.waiting

    @property
    def is_answering(self) -> bool:
        """Whether an answer of the server's is on its way."""
        return self.incoming.answer is not None and not self.incoming.is_ended

    @property
    def is_unanswered(self) -> bool:
        """Whether a request has got nothing of an answer."""
        return self._guest.our_state is h11.SEND_RESPONSE

    def failure(self, status: int, reason: str) -> bytes:
        """An answer that says why there is none of the server's; nothing where that has begun already."""
        if self.incoming.is_raw or self._guest.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return b""
        has_body = self._request is None or self._request.method != "HEAD"
        return failure_response(self._guest, status, reason, has_body=has_body)

    async def close(self) -> None:
        """Close the connection to the server."""
        with self._turns.of_task():
            self.incoming.is_ended = True
            await self._upstream.close()

    # -- what the code sends ---------------------------------------------------------------------------------

    async def send(self, data: bytes, *, may_greet: bool = True) -> None:
        """Pass on what the code sent: with `may_greet`, also the handshake of the sandbox's module ssl.

        Raises Suspend when `on_request` does; `decide` continues then.
        """
        with self._turns.of_task():
            async with self._outgoing.lock:
                await self._pass_to_server(data, may_greet=may_greet)

    async def _pass_to_server(self, data: bytes, *, may_greet: bool) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        if self.incoming.is_broken:
            raise ConnectionResetError("the connection was closed after a request that failed")
        try:
            if may_greet and not self._outgoing.is_passing and data.startswith(_HELLO):
                await self._greet(data)
            else:
                self._has_sent = True
                self._budget.sent(len(data))
                if self.incoming.is_raw:
                    await self._outgoing.write(data)
                else:
                    if rest := await self._outgoing.pass_on(data):
                        self._guest.receive_data(rest)
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
        with self._turns.of_task():
            async with self._outgoing.lock:
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
        if waiting > 2 * MOST_HEAD:
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
        written = request.headers
        self._record(request)
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
            try:
                decision = await decided(self._policy.on_request, request, written, self._issued.scrubber())
            except PermissionError as error:
                self._refuse(str(error), PermissionError)
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
        secrets = self._policy.secrets
        carried = [one for one in secrets if may_carry(one, event, self._destination, scheme)]
        values = [(one, await one.current()) for one in carried]
        for one, value in values:
            self._issued.add(one.name, value)
        scrubber = self._issued.scrubber()
        try:
            proxy = proxy_for(self._policy.proxy, scheme, self.host, self.port)
        except ValueError as error:
            raise ConnectionRefusedError(f"the environment names no usable proxy: {error}") from None
        try:
            head = forwarded(
                event,
                headers,
                values,
                self._destination.host_header(event),
                is_scrubbed=scrubber.is_needed,
                # A part of an answer may be a part of a value, which another path of its host may repeat.
                is_whole=any(one.is_of(self.host) for one in secrets),
            )
            if proxy is not None and scheme == "http":
                head = by_proxy(head, self._authority(), proxy.authorization)
        except (h11.LocalProtocolError, UnicodeError):
            # The message of this error has the header in it, perhaps with a value.
            self._refuse("the headers to send are not valid HTTP/1.1", PermissionError)
        request.allowed = True
        if self._policy.request_timeout is not None:
            self.incoming.due = anyio.current_time() + self._policy.request_timeout
        await self.incoming.in_time(
            self._ensure_server(proxy, is_tunnel=proxy is not None and scheme != "http")
        )
        assert self._server is not None
        in_body = [(one.name, value) for one, value in values if one.in_body]
        self._body = Body(head, in_body)
        is_read = in_body or wants_upgrade(event)
        begun, length = b"", None if is_read else passed_length(event, head)
        if length is not None:
            self._outgoing.body = PassedBody(request, self._server, length)
            begun, self._guest = self._guest.trailing_data[0], without_body(event)
        self.incoming.answer = AnswerReader(self._guest, self._server, request, scrubber, self._started)
        await self._send_all(self._body.begin())
        if begun and (rest := await self._outgoing.pass_on(begun)):
            self._guest.receive_data(rest)
        self.incoming.look()

    async def _ensure_server(self, proxy: ForwardProxy | None, *, is_tunnel: bool) -> None:
        """A connection to the server that is ready for the next request."""
        server = self._server
        if server is not None and not (
            self.incoming.is_reusable
            and server.our_state is h11.DONE
            and not self.incoming.is_ended
            and self._upstream.goes_by(proxy, is_tunnel=is_tunnel)
            and (self._outgoing.is_prompt or self._upstream.is_alive())
        ):
            await self._upstream.close()
        try:
            await self._upstream.open(proxy, is_tunnel=is_tunnel)
        except ssl.SSLCertVerificationError as error:
            raise ConnectionAbortedError(error.verify_message) from None
        except ssl.SSLError as error:
            raise ConnectionResetError(f"{self.host}: {error}") from None
        self.incoming.begin()
        self._server = h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST_HEAD)

    async def _send_all(self, events: Iterable[h11.Event]) -> None:
        """Write parts of a request to the server."""
        assert self._server is not None
        for event in events:
            data = self._server.send(event)
            if data:
                await self._outgoing.write(data)

    def _record(self, request: NetworkRequest) -> None:
        """Note a request. The code may write a value that it came by otherwise, or guessed."""
        self._budget.record(request.scrub(self._issued.scrubber()))

    def _refuse(self, reason: str, kind: type[OSError]) -> NoReturn:
        reason = self._issued.scrubber().scrubbed_text(reason)
        if self._request is None:
            self._request = NetworkRequest("?", f"{self._scheme_name()}://{self._authority()}/")
            self._record(self._request)
        self._request.allowed = False
        self._break(reason)
        raise kind(reason)

    def _refuse_next(self, reason: str) -> NoReturn:
        """Refuse what was sent too early; the answer to the request before it is the last one."""
        self.incoming.is_broken = True
        url = f"{self._scheme_name()}://{self._authority()}/"
        self._record(NetworkRequest("?", url, reason=reason))
        raise PermissionError(reason)

    def _break(self, reason: str) -> None:
        """Nothing further can be sent, and only what came already be received."""
        self.incoming.break_off(reason)

    def _note(self, reason: str) -> None:
        """Why the request under way failed."""
        if self._request is not None and not self._request.reason:
            self._request.reason = self._issued.scrubber().scrubbed_text(reason)

    def _fail(self, error: Exception) -> None:
        self._held = None
        self._break(str(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}")

    def _scheme_name(self) -> str:
        return "https" if self.tls else "http"

    # -- on the thread that the code runs on -----------------------------------------------------------------

    def send_at_once(self, data: bytes, loop: EventLoop) -> bool:
        """Do what `send` does, where it has nothing to wait for. Raises what that raises."""
        try:
            with self._turns.lock:
                if self._turns.has_tasks or not self._can_send_at_once(data):
                    return False
                self._outgoing.is_prompt = True
                try:
                    _run_through(self._pass_to_server(data, may_greet=False))
                finally:
                    self._outgoing.is_prompt = False
        finally:
            self._outgoing.settle(loop)
        return True

    def send_from(self, buffer: memoryview, loop: EventLoop) -> int:
        """Do what `send` does with a part of a buffer of the code's, where that takes a moment at most; its
        length, or 0: then `send` does it, or says why it cannot be done.
        """
        count = self._outgoing.send_from(buffer, loop)
        if count:
            return count
        data = bytes(buffer[:_MOST_SENT])
        try:
            return len(data) if self.send_at_once(data, loop) else 0
        except Exception as error:
            self._failure = error
            return 0

    def _can_send_at_once(self, data: bytes) -> bool:
        """Whether nothing that a request may call is the user's, and the server is connected."""
        upstream, policy, incoming = self._upstream, self._policy, self.incoming
        if len(data) > _MOST_SENT or data.startswith(_HELLO) or upstream.has_unsent or incoming.is_ended:
            return False
        if not (upstream.is_direct and upstream.goes_by(None, is_tunnel=False)):
            return False
        if incoming.is_raw or self._guest.their_state is not h11.IDLE:
            return True
        is_plain = policy.on_request is None and policy.request_timeout is None and policy.proxy is None
        is_constant = not any(callable(one.value) for one in policy.secrets)
        is_ready = self._server is None or (incoming.is_reusable and self._server.our_state is h11.DONE)
        return is_plain and is_constant and is_ready and upstream.is_alive()
