"""The part of `ssl` that is C elsewhere: all of its names, and connections that the host encrypts.

What the code wants to be encrypted is passed to the host as it is, which encrypts it and verifies the
server. A handshake is one message each way, in the place of TLS's own: the name of the server, and whether it
was verified (`planaria.network.connection` has the other side). The numbers are OpenSSL's.
"""

from __future__ import annotations

import os
from typing import Any, NoReturn

from planaria_kernel.network.link import NO_NETWORK, is_enabled
from planaria_kernel.network.sockets import Socket

OPENSSL_VERSION_NUMBER = 0x30000000
OPENSSL_VERSION_INFO = (3, 0, 0, 0, 0)
OPENSSL_VERSION = "OpenSSL 3.0.0 (the host's: planaria)"
_OPENSSL_API_VERSION = OPENSSL_VERSION_INFO
_DEFAULT_CIPHERS = "@SECLEVEL=2:ECDH+AESGCM:ECDH+CHACHA20:ECDH+AES:DHE+AES:!aNULL:!eNULL:!aDSS:!SHA1:!AESCCM"

HAS_SNI = HAS_ECDH = HAS_ALPN = HAS_TLSv1_2 = HAS_TLSv1_3 = True
HAS_NPN = HAS_SSLv2 = HAS_SSLv3 = HAS_TLSv1 = HAS_TLSv1_1 = False
HAS_PSK = HAS_PSK_TLS13 = HAS_PHA = False

ALERT_DESCRIPTION_ACCESS_DENIED = 49
ALERT_DESCRIPTION_BAD_CERTIFICATE = 42
ALERT_DESCRIPTION_BAD_CERTIFICATE_HASH_VALUE = 114
ALERT_DESCRIPTION_BAD_CERTIFICATE_STATUS_RESPONSE = 113
ALERT_DESCRIPTION_BAD_RECORD_MAC = 20
ALERT_DESCRIPTION_CERTIFICATE_EXPIRED = 45
ALERT_DESCRIPTION_CERTIFICATE_REVOKED = 44
ALERT_DESCRIPTION_CERTIFICATE_UNKNOWN = 46
ALERT_DESCRIPTION_CERTIFICATE_UNOBTAINABLE = 111
ALERT_DESCRIPTION_CLOSE_NOTIFY = 0
ALERT_DESCRIPTION_DECODE_ERROR = 50
ALERT_DESCRIPTION_DECOMPRESSION_FAILURE = 30
ALERT_DESCRIPTION_DECRYPT_ERROR = 51
ALERT_DESCRIPTION_HANDSHAKE_FAILURE = 40
ALERT_DESCRIPTION_ILLEGAL_PARAMETER = 47
ALERT_DESCRIPTION_INSUFFICIENT_SECURITY = 71
ALERT_DESCRIPTION_INTERNAL_ERROR = 80
ALERT_DESCRIPTION_NO_RENEGOTIATION = 100
ALERT_DESCRIPTION_PROTOCOL_VERSION = 70
ALERT_DESCRIPTION_RECORD_OVERFLOW = 22
ALERT_DESCRIPTION_UNEXPECTED_MESSAGE = 10
ALERT_DESCRIPTION_UNKNOWN_CA = 48
ALERT_DESCRIPTION_UNKNOWN_PSK_IDENTITY = 115
ALERT_DESCRIPTION_UNRECOGNIZED_NAME = 112
ALERT_DESCRIPTION_UNSUPPORTED_CERTIFICATE = 43
ALERT_DESCRIPTION_UNSUPPORTED_EXTENSION = 110
ALERT_DESCRIPTION_USER_CANCELLED = 90
CERT_NONE = 0
CERT_OPTIONAL = 1
CERT_REQUIRED = 2
ENCODING_DER = 2
ENCODING_PEM = 1
HOSTFLAG_ALWAYS_CHECK_SUBJECT = 1
HOSTFLAG_MULTI_LABEL_WILDCARDS = 8
HOSTFLAG_NEVER_CHECK_SUBJECT = 32
HOSTFLAG_NO_PARTIAL_WILDCARDS = 4
HOSTFLAG_NO_WILDCARDS = 2
HOSTFLAG_SINGLE_LABEL_SUBDOMAINS = 16
OP_ALL = 2147483728
OP_CIPHER_SERVER_PREFERENCE = 4194304
OP_ENABLE_KTLS = 8
OP_ENABLE_MIDDLEBOX_COMPAT = 1048576
OP_IGNORE_UNEXPECTED_EOF = 128
OP_LEGACY_SERVER_CONNECT = 4
OP_NO_COMPRESSION = 131072
OP_NO_RENEGOTIATION = 1073741824
OP_NO_SSLv2 = 0
OP_NO_SSLv3 = 33554432
OP_NO_TICKET = 16384
OP_NO_TLSv1 = 67108864
OP_NO_TLSv1_1 = 268435456
OP_NO_TLSv1_2 = 134217728
OP_NO_TLSv1_3 = 536870912
OP_SINGLE_DH_USE = 0
OP_SINGLE_ECDH_USE = 0
PROTOCOL_SSLv23 = 2
PROTOCOL_TLS = 2
PROTOCOL_TLS_CLIENT = 16
PROTOCOL_TLS_SERVER = 17
PROTOCOL_TLSv1 = 3
PROTOCOL_TLSv1_1 = 4
PROTOCOL_TLSv1_2 = 5
PROTO_MAXIMUM_SUPPORTED = -1
PROTO_MINIMUM_SUPPORTED = -2
PROTO_SSLv3 = 768
PROTO_TLSv1 = 769
PROTO_TLSv1_1 = 770
PROTO_TLSv1_2 = 771
PROTO_TLSv1_3 = 772
SSL_ERROR_EOF = 8
SSL_ERROR_INVALID_ERROR_CODE = 10
SSL_ERROR_SSL = 1
SSL_ERROR_SYSCALL = 5
SSL_ERROR_WANT_CONNECT = 7
SSL_ERROR_WANT_READ = 2
SSL_ERROR_WANT_WRITE = 3
SSL_ERROR_WANT_X509_LOOKUP = 4
SSL_ERROR_ZERO_RETURN = 6
VERIFY_ALLOW_PROXY_CERTS = 64
VERIFY_CRL_CHECK_CHAIN = 12
VERIFY_CRL_CHECK_LEAF = 4
VERIFY_DEFAULT = 0
VERIFY_X509_PARTIAL_CHAIN = 524288
VERIFY_X509_STRICT = 32
VERIFY_X509_TRUSTED_FIRST = 32768


class SSLError(OSError):
    """An error of the TLS library."""

    library: str | None = None
    reason: str | None = None


class SSLZeroReturnError(SSLError):
    """The connection was closed cleanly."""


class SSLWantReadError(SSLError):
    """More data must be received first."""


class SSLWantWriteError(SSLError):
    """More data must be sent first."""


class SSLSyscallError(SSLError):
    """A system call failed."""


class SSLEOFError(SSLError):
    """The connection ended in violation of the protocol."""


class SSLCertVerificationError(SSLError, ValueError):
    """A certificate could not be verified."""


def _refuse() -> NoReturn:
    raise SSLError(SSL_ERROR_SSL, NO_NETWORK)


class SSLSession:
    """A session that can be resumed; there are none."""

    def __init__(self) -> None:
        raise TypeError("cannot create '_ssl.SSLSession' instances")


class MemoryBIO:
    """A buffer in memory between a program and the TLS library."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._ended = False

    def read(self, size: int = -1, /) -> bytes:
        count = len(self._data) if size < 0 else size
        data = bytes(self._data[:count])
        del self._data[:count]
        return data

    def write(self, data: Any, /) -> int:
        if self._ended:
            _refuse()
        self._data += data
        return len(data)

    def write_eof(self) -> None:
        self._ended = True

    @property
    def pending(self) -> int:
        return len(self._data)

    @property
    def eof(self) -> bool:
        return self._ended and not self._data


class _SSLContext:
    """Settings of connections: kept, and refused when a connection is made with them."""

    # Descriptors of this class, which `ssl.SSLContext` reaches by `super()`.
    __slots__ = (
        "_host_flags",
        "_msg_callback",
        "_protocols",
        "check_hostname",
        "keylog_filename",
        "maximum_version",
        "minimum_version",
        "num_tickets",
        "options",
        "post_handshake_auth",
        "protocol",
        "security_level",
        "sni_callback",
        "verify_flags",
        "verify_mode",
    )

    def __new__(cls, protocol: int = PROTOCOL_TLS) -> Any:
        self = super().__new__(cls)
        client = protocol == PROTOCOL_TLS_CLIENT
        settings = {
            "_host_flags": HOSTFLAG_NO_PARTIAL_WILDCARDS,
            "_msg_callback": None,
            "_protocols": b"",
            "check_hostname": client,
            "keylog_filename": None,
            "maximum_version": PROTO_MAXIMUM_SUPPORTED,
            "minimum_version": PROTO_MINIMUM_SUPPORTED,
            "num_tickets": 2,
            "options": OP_ALL | OP_NO_SSLv3 | OP_NO_COMPRESSION | OP_ENABLE_MIDDLEBOX_COMPAT,
            "post_handshake_auth": False,
            "protocol": protocol,
            "security_level": 2,
            "sni_callback": None,
            "verify_flags": VERIFY_X509_TRUSTED_FIRST,
            "verify_mode": CERT_REQUIRED if client else CERT_NONE,
        }
        for name, value in settings.items():  # `ssl.SSLContext` has properties of the same names
            vars(_SSLContext)[name].__set__(self, value)
        return self

    def set_ciphers(self, ciphers: str, /) -> None: ...

    def set_ciphersuites(self, ciphersuites: str, /) -> None: ...

    def set_ecdh_curve(self, name: str, /) -> None: ...

    def set_groups(self, groups: str, /) -> None: ...

    def load_dh_params(self, path: Any, /) -> None: ...

    def load_cert_chain(self, certfile: Any, keyfile: Any = None, password: Any = None) -> None:
        for path in (certfile, keyfile):
            if path is not None:
                os.stat(path)

    def load_verify_locations(self, cafile: Any = None, capath: Any = None, cadata: Any = None) -> None:
        if cafile is None and capath is None and cadata is None:
            raise TypeError("cafile, capath and cadata cannot be all omitted")
        for path in (cafile, capath):
            if path is not None:
                os.stat(path)

    def set_default_verify_paths(self) -> None: ...

    def _set_alpn_protocols(self, protocols: bytes, /) -> None:
        self._protocols = bytes(protocols)

    def cert_store_stats(self) -> dict[str, int]:
        return {"x509": 0, "crl": 0, "x509_ca": 0}

    def session_stats(self) -> dict[str, int]:
        return {}

    def get_ca_certs(self, binary_form: bool = False) -> list[Any]:
        return []

    def get_ciphers(self) -> list[dict[str, Any]]:
        return []

    def get_groups(self, *, include_aliases: bool = False) -> list[str]:
        return []

    def _wrap_socket(
        self,
        sock: Any,
        server_side: bool,
        server_hostname: str | None = None,
        *,
        owner: Any = None,
        session: Any = None,
    ) -> _Connection:
        if not is_enabled() or server_side:
            _refuse()
        return _Connection(self, server_hostname, _SocketEnd(sock), owner)

    def _wrap_bio(
        self,
        incoming: MemoryBIO,
        outgoing: MemoryBIO,
        server_side: bool,
        server_hostname: str | None = None,
        *,
        owner: Any = None,
        session: Any = None,
    ) -> _Connection:
        if not is_enabled() or server_side:
            _refuse()
        return _Connection(self, server_hostname, _BufferEnd(incoming, outgoing), owner)


def _not_verified(reason: str) -> SSLCertVerificationError:
    error = SSLCertVerificationError(SSL_ERROR_SSL, f"certificate verify failed: {reason}")
    attributes = {"verify_code": 1, "verify_message": reason, "reason": "CERTIFICATE_VERIFY_FAILED"}
    vars(error).update(attributes, library="SSL")
    return error


class _SocketEnd:
    """The bytes of a connection over a socket."""

    def __init__(self, sock: Any) -> None:
        self._socket = sock

    def receive(self, size: int) -> bytes:
        try:
            return Socket.recv(self._socket, size)
        except BlockingIOError:
            raise SSLWantReadError(SSL_ERROR_WANT_READ, "The operation did not complete (read)") from None

    def receive_into(self, buffer: memoryview) -> int:
        try:
            return Socket.recv_into(self._socket, buffer)
        except BlockingIOError:
            raise SSLWantReadError(SSL_ERROR_WANT_READ, "The operation did not complete (read)") from None

    def send(self, data: Any) -> int:
        try:
            return Socket.send(self._socket, data)
        except ConnectionAbortedError as error:  # where the server is connected to at the first request
            raise _not_verified(error.strerror or "") from None


class _BufferEnd:
    """The bytes of a connection over buffers that the caller moves."""

    def __init__(self, incoming: MemoryBIO, outgoing: MemoryBIO) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    def receive(self, size: int) -> bytes:
        data = self._incoming.read(size)
        if not data and not self._incoming.eof:
            raise SSLWantReadError(SSL_ERROR_WANT_READ, "The operation did not complete (read)")
        return data

    def receive_into(self, buffer: memoryview) -> int:
        data = self.receive(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def send(self, data: Any) -> int:
        return self._outgoing.write(data)


class _Connection:
    """What is behind `ssl.SSLSocket` and `ssl.SSLObject`."""

    def __init__(self, context: _SSLContext, server_hostname: str | None, end: Any, owner: Any) -> None:
        self.context = context
        self.server_hostname = server_hostname
        self.owner = owner
        self.session = None
        self.session_reused = False
        self._end = end
        self._greeted = self._verified = False
        self._reply = bytearray()
        #: Of the server, in DER form, if the host knew it at the handshake.
        self._certificate = b""

    def do_handshake(self) -> None:
        if not self._greeted:
            name = (self.server_hostname or "").encode()
            self._end.send(HELLO + len(name).to_bytes(2) + name)
            self._greeted = True
        if self._verified:
            return
        head = len(HELLO) + 3
        self._await_reply(head)
        size = int.from_bytes(self._reply[head - 2 : head])
        self._await_reply(head + size)
        details = bytes(self._reply[head:])
        if not self._reply[head - 3]:
            raise _not_verified(details.decode("utf-8", "replace"))
        self._certificate = details
        self._verified = True

    def _await_reply(self, size: int) -> None:
        """Have so many bytes of the reply. Raises SSLWantReadError when they have not come."""
        while len(self._reply) < size:
            data = self._end.receive(size - len(self._reply))
            if not data:
                raise SSLEOFError(SSL_ERROR_EOF, "EOF occurred in violation of protocol")
            self._reply += data

    def read(self, size: int = 1024, buffer: Any = None, /) -> Any:
        if buffer is None:
            return self._end.receive(size)
        view = memoryview(buffer).cast("B")
        return self._end.receive_into(view[:size] if size else view)

    def write(self, data: Any, /) -> int:
        return int(self._end.send(memoryview(data).cast("B")))

    def pending(self) -> int:
        return 0

    def shutdown(self) -> Any:
        return getattr(self._end, "_socket", None)

    def version(self) -> str | None:
        return "TLSv1.3" if self._verified else None

    def cipher(self) -> tuple[str, str, int] | None:
        return ("TLS_AES_256_GCM_SHA384", "TLSv1.3", 256) if self._verified else None

    def shared_ciphers(self) -> None: ...

    def compression(self) -> None: ...

    def selected_alpn_protocol(self) -> str | None:
        return "http/1.1" if b"http/1.1" in self.context._protocols else None

    def getpeercert(self, der: bool = False, /) -> Any:
        if not self._verified:
            raise ValueError("handshake not done yet")
        if der:
            return self._certificate
        name = self.server_hostname or ""
        return {"subject": ((("commonName", name),),), "subjectAltName": (("DNS", name),)}

    def get_channel_binding(self, cb_type: str = "tls-unique") -> None: ...

    def get_verified_chain(self) -> list[Any]:
        return []

    get_unverified_chain = get_verified_chain

    def verify_client_post_handshake(self) -> NoReturn:
        _refuse()


#: What a handshake begins with, in both directions: no protocol begins with it.
HELLO = b"\x16planaria"


def txt2obj(txt: str, name: bool = False) -> tuple[int, str, str, str]:
    """An ASN.1 object by its identifier or name: only those that `ssl.Purpose` asks for."""
    known = _OBJECTS.get(txt)
    if known is None:
        raise ValueError(f"unknown object '{txt[:100]}'")
    return known


def nid2obj(nid: int, /) -> tuple[int, str, str, str]:
    """An ASN.1 object by OpenSSL's number for it."""
    for known in _OBJECTS.values():
        if known[0] == nid:
            return known
    raise ValueError(f"unknown NID {nid}")


_OBJECTS = {
    "1.3.6.1.5.5.7.3.1": (129, "serverAuth", "TLS Web Server Authentication", "1.3.6.1.5.5.7.3.1"),
    "1.3.6.1.5.5.7.3.2": (130, "clientAuth", "TLS Web Client Authentication", "1.3.6.1.5.5.7.3.2"),
}


def RAND_status() -> bool:
    """Whether there are enough random numbers: always."""
    return True


def RAND_add(string: Any, entropy: float, /) -> None:
    """Add to the source of random numbers, which needs nothing."""


def RAND_bytes(n: int, /) -> bytes:
    """`n` random bytes."""
    return os.urandom(n)


def get_default_verify_paths() -> tuple[str, str, str, str]:
    """Where certificates would be looked for: variables and places."""
    return ("SSL_CERT_FILE", "/etc/ssl/cert.pem", "SSL_CERT_DIR", "/etc/ssl/certs")


def get_sigalgs() -> list[str]:
    """The signature algorithms there are: none."""
    return []
