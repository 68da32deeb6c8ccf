"""Files that appear whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from planaria.storage.atomic import write_atomically


def test_what_is_written_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    """The pieces are the file, which only its owner may read."""
    place = tmp_path / "file"
    place.write_bytes(b"before")
    write_atomically(place, (b"a", memoryview(b"b"), b""))
    assert place.read_bytes() == b"ab"
    assert place.stat().st_mode & 0o777 == 0o600


def test_what_fails_leaves_what_was_there(tmp_path: Path) -> None:
    """A file whose pieces end in an error is as it was before, and nothing is left beside it."""

    def pieces() -> Iterator[bytes]:
        yield b"after"
        raise KeyboardInterrupt

    place = tmp_path / "file"
    place.write_bytes(b"before")
    with pytest.raises(KeyboardInterrupt):
        write_atomically(place, pieces())
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("file", b"before")]
