"""Requests and responses as E2B's SDKs expect them: errors, the Connect protocol, credentials."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from planaria.server.guard import bearer, read_body
from planaria.server.problems import Problem, problem_of
from planaria.server.routes import Server
from planaria.server.settings import Token

__all__ = [
    "access_token",
    "client_stream_rpc",
    "control",
    "daemon",
    "decode_json",
    "message",
    "sandbox_of",
    "stream_rpc",
    "unary_rpc",
    "unimplemented",
]

log: Final = logging.getLogger("planaria.server")
#: How Connect names the statuses (https://connectrpc.com/docs/protocol/#error-codes).
_CODES: Final = {
    400: "invalid_argument",
    401: "unauthenticated",
    403: "permission_denied",
    404: "not_found",
    409: "failed_precondition",
    413: "resource_exhausted",
    422: "invalid_argument",
    429: "resource_exhausted",
    501: "unimplemented",
    502: "unavailable",
    503: "unavailable",
    507: "resource_exhausted",
}
_STREAM: Final = "application/connect+json"
#: The flag of the last message of a stream.
_END: Final = 2
#: What stands before each message: flags and its length.
_HEADER: Final = struct.Struct(">BI")

Handler = Callable[[Server, Request, Token], Awaitable[Response]]
Unary = Callable[[Server, Request, Token, Any], Awaitable[dict[str, Any]]]
Streaming = Callable[[Server, Request, Token, Any], AsyncIterator[dict[str, Any]]]


Receiving = Callable[[Server, Request, Token, AsyncIterator[Any]], Awaitable[dict[str, Any]]]


def unimplemented(what: str) -> Problem:
    """The answer to what this server does not have, with the reason."""
    return Problem(501, what, code="unimplemented")


def access_token(token: Token, sandbox: str) -> str:
    """The credential for one sandbox: it is made of the token, so any server with that token knows it."""
    digest = hmac.new(token.secret.encode(), sandbox.encode(), hashlib.sha256).hexdigest()
    return f"{token.space}.{digest}"


def sandbox_of(request: Request) -> str:
    """The sandbox that a request to a sandbox is for. Raises Problem."""
    name = request.headers.get("e2b-sandbox-id") or getattr(request.state, "sandbox", "")
    if not name:
        raise Problem(400, "the header E2b-Sandbox-Id is missing")
    return name


async def _sandbox_token(server: Server, request: Request) -> Token:
    """The token whose sandbox a request is for. Raises Problem."""
    if "signature" in request.query_params and "e2b-sandbox-id" not in request.headers:
        return await _signing_token(server, request)
    name = sandbox_of(request)
    given = request.headers.get("x-access-token") or request.headers.get("e2b-traffic-access-token") or ""
    for token in server.settings.tokens:
        if hmac.compare_digest(access_token(token, name).encode(), given.encode()):
            return server.guard.token(token.secret)
    return server.guard.token(None)


async def _signing_token(server: Server, request: Request) -> Token:
    """The token of a signed URL of a file, which names no sandbox but has a digest with its credential.

    Raises Problem.
    """
    query = request.query_params
    operation = "read" if request.method == "GET" else "write"
    signed = f"{query.get('path', '')}:{operation}:{query.get('username', '')}:"
    expires = query.get("signature_expiration")
    if expires is not None and not (expires.isdecimal() and int(expires) > time.time()):
        raise Problem(401, "the signature has expired")
    for token in server.settings.tokens or [Token("default")]:
        for sandbox, _ in await server.sessions.records(token):
            text = f"{signed}{access_token(token, sandbox)}{'' if expires is None else f':{expires}'}"
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            if hmac.compare_digest(f"v1_{digest}".encode(), query["signature"].encode()):
                request.state.sandbox = sandbox
                return server.guard.token(token.secret)
    raise Problem(401, "the signature is wrong")


def message(status: int, text: str) -> Response:
    """An error as the control plane and the daemon send it."""
    return JSONResponse({"code": status, "message": text}, status)


def control(server: Server, method: str, path: str, handler: Handler) -> Route:
    """A route of the control plane, which takes the header X-API-KEY."""

    async def token(request: Request) -> Token:
        return server.guard.token(request.headers.get("x-api-key") or bearer(request))

    return _route(server, method, path, handler, token, _plain)


def daemon(server: Server, method: str, path: str, handler: Handler) -> Route:
    """A route of a sandbox."""
    return _route(server, method, path, handler, lambda request: _sandbox_token(server, request), _plain)


def unary_rpc(server: Server, path: str, function: Unary) -> Route:
    """A Connect RPC with one request and one response."""

    async def handler(server: Server, request: Request, token: Token) -> Response:
        body = decode_json(await read_body(request, token.body))
        return JSONResponse(await function(server, request, token, body))

    return _route(server, "POST", path, handler, lambda request: _sandbox_token(server, request), _connect)


def stream_rpc(server: Server, path: str, function: Streaming) -> Route:
    """A Connect RPC with one request and a stream of responses."""

    async def handler(server: Server, request: Request, token: Token) -> Response:
        data = await read_body(request, token.body)
        body = decode_json(data[5:])

        async def frames() -> AsyncIterator[bytes]:
            end: dict[str, Any] = {}
            try:
                async for one in function(server, request, token, body):
                    yield _frame(0, one)
            except Exception as error:
                end = {"error": _connect_error(_problem(error, path))}
            yield _frame(_END, end)

        return StreamingResponse(frames(), media_type=_STREAM)

    return _route(server, "POST", path, handler, lambda request: _sandbox_token(server, request), _connect)


def client_stream_rpc(server: Server, path: str, function: Receiving) -> Route:
    """A Connect RPC with a stream of requests and one response."""

    async def handler(server: Server, request: Request, token: Token) -> Response:
        async def messages() -> AsyncIterator[Any]:
            data = b""
            async for chunk in request.stream():
                data += chunk
                while len(data) >= _HEADER.size:
                    _, size = _HEADER.unpack_from(data)
                    if size > token.body:
                        raise Problem(413, f"a message has more than {token.body} bytes")
                    if len(data) < _HEADER.size + size:
                        break
                    yield decode_json(data[_HEADER.size : _HEADER.size + size])
                    data = data[_HEADER.size + size :]

        end: dict[str, Any] = {}
        answer = b""
        try:
            answer = _frame(0, await function(server, request, token, messages()))
        except ClientDisconnect:
            raise
        except Exception as error:
            end = {"error": _connect_error(_problem(error, path))}
        return Response(answer + _frame(_END, end), media_type=_STREAM)

    return _route(server, "POST", path, handler, lambda request: _sandbox_token(server, request), _connect)


def decode_json(data: bytes) -> Any:
    """A JSON object. Raises Problem."""
    try:
        found = json.loads(data or b"{}")
    except ValueError as error:
        raise Problem(400, f"the body is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise Problem(400, "the body must be an object")
    return found


def _frame(flags: int, value: dict[str, Any]) -> bytes:
    data = json.dumps(value).encode()
    return _HEADER.pack(flags, len(data)) + data


def _plain(problem: Problem) -> Response:
    status = 400 if problem.status == 422 else problem.status
    return JSONResponse({"code": status, "message": problem.detail}, status, headers=problem.headers)


def _connect(problem: Problem) -> Response:
    status = 400 if problem.status == 422 else problem.status
    return JSONResponse(_connect_error(problem), status, headers=problem.headers)


def _connect_error(problem: Problem) -> dict[str, str]:
    code = "already_exists" if problem.code == "exists" else _CODES.get(problem.status, "internal")
    return {"code": code, "message": problem.detail}


def _problem(error: Exception, path: str) -> Problem:
    problem = problem_of(error)
    if problem is None:
        log.error("%s failed", path, exc_info=error)
        problem = Problem(500, "the server failed; its log says how")
    return problem


def _route(
    server: Server,
    method: str,
    path: str,
    handler: Handler,
    token_of: Callable[[Request], Awaitable[Token]],
    shown: Callable[[Problem], Response],
) -> Route:
    async def endpoint(request: Request) -> Response:
        began = time.perf_counter()
        token: Token | None = None
        try:
            server.guard.check_host(request)
            token = await token_of(request)
            response = await handler(server, request, token)
        except ClientDisconnect:
            response = Response(status_code=400)
        except Exception as error:
            response = shown(_problem(error, path))
        seconds = time.perf_counter() - began
        name = f"{method} {path}"
        server.metrics.add("planaria_requests_total", route=name, status=str(response.status_code))
        server.metrics.add("planaria_request_seconds_total", seconds, route=name)
        server.audit.write(request, name, response.status_code, seconds, token)
        return response

    return Route(path, endpoint, methods=[method])
