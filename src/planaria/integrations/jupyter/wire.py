"""Jupyter's messages: how they are built, signed, sent and checked.

The protocol is https://jupyter-client.readthedocs.io/en/stable/messaging.html, version 5.4.
"""

from __future__ import annotations

import base64
import hmac
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

__all__ = ["PROTOCOL_VERSION", "BadMessage", "Connection", "Message", "Wire"]

PROTOCOL_VERSION: Final = "5.4"
_DELIMITER: Final = b"<IDS|MSG>"
#: Message ids that are kept to refuse messages that are sent again.
_MOST_SEEN: Final = 1 << 16


class BadMessage(Exception):
    """What arrived is not a message of this connection's, or was altered."""


@dataclass(frozen=True, slots=True)
class Connection:
    """What a connection file says: where the kernel listens, and the key that signs messages."""

    transport: str
    ip: str
    shell_port: int
    iopub_port: int
    stdin_port: int
    control_port: int
    hb_port: int
    key: bytes = b""
    kernel_name: str = ""

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Connection:
        """Of the fields of a connection file. Raises ValueError when they are not one's."""
        scheme = fields.get("signature_scheme", "hmac-sha256")
        if scheme != "hmac-sha256":
            raise ValueError(f"the signature scheme {scheme!r} is not hmac-sha256")
        try:
            ports = {
                name: int(fields[f"{name}_port"]) for name in ("shell", "iopub", "stdin", "control", "hb")
            }
        except (KeyError, TypeError) as error:
            raise ValueError(f"it is not a connection file: {error}") from None
        key = fields.get("key", b"")
        return cls(
            transport=str(fields.get("transport", "tcp")),
            ip=str(fields.get("ip", "127.0.0.1")),
            **{f"{name}_port": port for name, port in ports.items()},
            key=key if isinstance(key, bytes) else str(key).encode(),
            kernel_name=str(fields.get("kernel_name", "")),
        )

    @classmethod
    def read(cls, path: Path) -> Connection:
        """Of a connection file. Raises OSError, ValueError."""
        fields = json.loads(path.read_text("utf-8"))
        if not isinstance(fields, dict):
            raise ValueError("it is not a connection file: it is not a JSON object")
        return cls.of(fields)

    def address(self, channel: str) -> str:
        """The ZeroMQ endpoint of a channel: shell, iopub, stdin, control, hb."""
        port = getattr(self, f"{channel}_port")
        separator = "-" if self.transport == "ipc" else ":"
        return f"{self.transport}://{self.ip}{separator}{port}"


@dataclass(slots=True)
class Message:
    """One message, as it arrived or before it is sent."""

    header: dict[str, Any]
    content: dict[str, Any]
    parent_header: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    buffers: Sequence[bytes] = ()
    identities: list[bytes] = field(default_factory=list)
    """Who sent it, for the answer to be routed."""

    @property
    def type(self) -> str:
        return str(self.header.get("msg_type", ""))

    @property
    def id(self) -> str:
        return str(self.header.get("msg_id", ""))


class Wire:
    """Signs and checks the messages of one kernel."""

    def __init__(self, key: bytes) -> None:
        self.session = uuid.uuid4().hex
        self._signer = hmac.new(key, digestmod=sha256) if key else None
        self._count = 0
        self._seen: dict[bytes, None] = {}

    def frames(
        self,
        kind: str,
        content: dict[str, Any],
        parent: dict[str, Any],
        *,
        identities: Sequence[bytes] = (),
        metadata: dict[str, Any] | None = None,
        buffers: Sequence[bytes] = (),
    ) -> list[bytes]:
        """A new message as what is sent."""
        self._count += 1
        header = {
            "msg_id": f"{self.session}_{self._count}",
            "msg_type": kind,
            "username": "planaria",
            "session": self.session,
            "date": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
            "version": PROTOCOL_VERSION,
        }
        parts = [_packed(part) for part in (header, parent, metadata or {}, content)]
        return [*identities, _DELIMITER, self._signature(parts), *parts, *buffers]

    def message(self, frames: Sequence[bytes]) -> Message:
        """What arrived as a message. Raises BadMessage."""
        try:
            place = frames.index(_DELIMITER)
        except ValueError:
            raise BadMessage("it has no delimiter") from None
        identities, rest = list(frames[:place]), list(frames[place + 1 :])
        if len(rest) < 5:
            raise BadMessage("it is cut off")
        signature, parts = rest[0], rest[1:5]
        if self._signer is not None:
            if not hmac.compare_digest(signature, self._signature(parts)):
                raise BadMessage("its signature is wrong")
            if signature in self._seen:
                raise BadMessage("it was sent before")
            self._seen[signature] = None
            if len(self._seen) > _MOST_SEEN:
                del self._seen[next(iter(self._seen))]
        try:
            header, parent, metadata, content = (json.loads(part) for part in parts)
        except ValueError as error:
            raise BadMessage(f"it is not JSON: {error}") from None
        if not all(isinstance(one, dict) for one in (header, parent, metadata, content)):
            raise BadMessage("its parts are not JSON objects")
        return Message(header, content, parent, metadata, rest[5:], identities)

    def _signature(self, parts: Sequence[bytes]) -> bytes:
        if self._signer is None:
            return b""
        signer = self._signer.copy()
        for part in parts:
            signer.update(part)
        return signer.hexdigest().encode()


def _packed(value: object) -> bytes:
    """JSON as the protocol has it: bytes as base64, and no NaN or infinities, which JSON lacks."""
    try:
        return json.dumps(value, default=_as_json, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which UTF-8 cannot have
        return json.dumps(value, default=_as_json, allow_nan=False).encode()
    except ValueError:
        return json.dumps(_without_nan(value), default=_as_json, allow_nan=False).encode()


def _as_json(value: object) -> object:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _without_nan(value: object) -> object:
    if isinstance(value, float):
        return value if value - value == 0 else repr(value)
    if isinstance(value, dict):
        return {key: _without_nan(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(one) for one in value]
    return value
