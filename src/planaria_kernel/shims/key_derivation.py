"""`hashlib.pbkdf2_hmac`, which CPython has from OpenSSL alone (RFC 8018, 5.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planaria_kernel.shims.importing import when_imported

__all__ = ["install"]


def _derivation(new: Callable[..., Any]) -> Callable[..., bytes]:
    def pbkdf2_hmac(
        hash_name: str, password: Any, salt: Any, iterations: int, dklen: int | None = None
    ) -> bytes:
        """Password based key derivation function 2 (PKCS #5 v2.0) with HMAC as pseudorandom function."""
        if not isinstance(hash_name, str):
            raise TypeError(f"pbkdf2_hmac() argument 1 must be str, not {type(hash_name).__name__}")
        inner, outer = new(hash_name), new(hash_name)
        key, prefix = bytes(memoryview(password)), bytes(memoryview(salt))
        if iterations < 1:
            raise ValueError("iteration value must be greater than 0.")
        if dklen is None:
            dklen = inner.digest_size
        if dklen < 1:
            raise ValueError("key length must be greater than 0.")
        if len(key) > inner.block_size:
            key = new(hash_name, key).digest()
        key = key.ljust(inner.block_size, b"\0")
        inner.update(key.translate(bytes(byte ^ 0x36 for byte in range(256))))
        outer.update(key.translate(bytes(byte ^ 0x5C for byte in range(256))))
        copy_of_inner, copy_of_outer, number = inner.copy, outer.copy, int.from_bytes

        def code(message: bytes) -> bytes:
            first, second = copy_of_inner(), copy_of_outer()
            first.update(message)
            second.update(first.digest())
            return second.digest()  # type: ignore[no-any-return]

        derived = b""
        while len(derived) < dklen:
            block = code(prefix + (len(derived) // inner.digest_size + 1).to_bytes(4, "big"))
            result = number(block, "big")
            for _ in range(iterations - 1):
                block = code(block)
                result ^= number(block, "big")
            derived += result.to_bytes(inner.digest_size, "big")
        return derived[:dklen]

    pbkdf2_hmac.__qualname__, pbkdf2_hmac.__module__ = "pbkdf2_hmac", "hashlib"
    return pbkdf2_hmac


def _change_hashlib(module: Any) -> None:
    module.pbkdf2_hmac = _derivation(module.new)


def install() -> None:
    """Add it to `hashlib` when that is imported."""
    when_imported("hashlib", _change_hashlib)
