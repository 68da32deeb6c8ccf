"""`hashlib.pbkdf2_hmac` beside this machine's."""

from __future__ import annotations

import hashlib

import pytest

import planaria


@pytest.fixture(scope="module")
def session() -> planaria.Session:
    session = planaria.Session()
    session.execute("import hashlib")
    return session


@pytest.mark.parametrize(
    "arguments",
    [
        ("sha256", b"password", b"salt", 1),
        ("sha1", b"password", b"salt", 4096, 25),
        ("sha512", b"p" * 300, b"", 3, 200),
        ("SHA256", bytearray(b"a\0b"), memoryview(b"sa\0lt"), 2),
        ("md5", b"", b"s", 2, 1),
        ("sha3_256", b"key", b"s", 2),
    ],
)
def test_derived_keys(session: planaria.Session, arguments: tuple[object, ...]) -> None:
    """The key is OpenSSL's, for every hash function, length of key and of password."""
    expected = hashlib.pbkdf2_hmac(*arguments)  # type: ignore[arg-type]
    plain = tuple(bytes(one) if isinstance(one, bytearray | memoryview) else one for one in arguments)
    assert session.execute(f"hashlib.pbkdf2_hmac(*{plain!r})").value == expected


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("'sha256', 'text', b'', 1", "TypeError"),
        ("'sha256', b'', b'', 0", "ValueError"),
        ("'sha256', b'', b'', 1, 0", "ValueError"),
        ("'nothing', b'', b'', 1", "ValueError"),
        ("b'sha256', b'', b'', 1", "TypeError"),
    ],
)
def test_errors(session: planaria.Session, arguments: str, error: str) -> None:
    """Wrong arguments raise what they raise on a desktop."""
    with pytest.raises({"TypeError": TypeError, "ValueError": ValueError}[error]):
        exec(f"hashlib.pbkdf2_hmac({arguments})")
    result = session.run(f"hashlib.pbkdf2_hmac({arguments})")
    assert result.error is not None
    assert result.error.type == error
