"""zstd beside the real one: each reads what the other writes."""

from __future__ import annotations

import shutil
import subprocess
import zlib
from pathlib import Path
from random import Random

import pytest
from example_counts import examples
from harness import ours
from hypothesis import given, settings
from hypothesis import strategies as st

from planaria_shell.commands.archives.zstandard.format import ZstdCompressor, ZstdDecompressor, ZstdError
from planaria_shell.commands.archives.zstandard.xxhash import XXHash64

pytestmark = pytest.mark.slow

needs_zstd = pytest.mark.skipif(shutil.which("zstd") is None, reason="zstd is not installed")

TEXT = b"".join(b"line %d of the log, code %d\n" % (number, number * 7919 % 1000) for number in range(4000))
CONTENTS = [b"", b"a", b"abc" * 100, bytes(200_000), TEXT, Path("/bin/bash").read_bytes()[:300_000]]


def restored(data: bytes, size: int = 1 << 16) -> bytes:
    decompressor = ZstdDecompressor()
    pieces = [decompressor.decompress(data[at : at + size]) for at in range(0, len(data), size)]
    assert decompressor.eof
    return b"".join(pieces)


@needs_zstd
@pytest.mark.parametrize("level", ["-1", "-3", "-19", "--fast=5", "--no-check"])
@pytest.mark.parametrize("content", CONTENTS, ids=range(len(CONTENTS)))
def test_frames_of_the_real_encoder_are_read(content: bytes, level: str) -> None:
    """What zstd compresses at any level is restored: raw, repeated and compressed blocks, with their checksum."""
    packed = subprocess.run(["zstd", "-c", level], input=content, capture_output=True, check=True).stdout
    assert restored(packed) == content
    assert restored(packed, 1000) == content


@needs_zstd
@pytest.mark.parametrize("content", CONTENTS, ids=range(len(CONTENTS)))
def test_the_real_decoder_reads_what_is_written(content: bytes) -> None:
    """zstd restores what ours writes, and finds the checksum right."""
    compressor = ZstdCompressor()
    packed = compressor.compress(content) + compressor.flush()
    done = subprocess.run(["zstd", "-dc"], input=packed, capture_output=True, check=True)
    assert done.stdout == content


def packed_by_ours(content: bytes) -> bytes:
    compressor = ZstdCompressor()
    return compressor.compress(content) + compressor.flush()


#: Bytes of few and of many kinds, in runs, repeated near and far: every form that a block can take.
PIECES = st.one_of(
    st.binary(max_size=300),
    st.tuples(st.binary(min_size=1, max_size=20), st.integers(1, 400)).map(lambda pair: pair[0] * pair[1]),
    st.tuples(st.integers(0, 2**32), st.integers(1, 256), st.integers(1, 3000)).map(
        lambda key: bytes(int(Random(key[0] + at).random() ** 3 * key[1]) for at in range(key[2]))
    ),
    st.sampled_from([TEXT[:5000], TEXT[40_000:100_000]]),
)


@needs_zstd
@given(st.lists(PIECES, max_size=6))
@settings(max_examples=examples(60), deadline=None)
def test_any_content_is_restored_by_both_decoders(pieces: list[bytes]) -> None:
    """What ours compresses, the real zstd restores, and so does ours."""
    content = b"".join(pieces)
    packed = packed_by_ours(content)
    assert subprocess.run(["zstd", "-dc"], input=packed, capture_output=True, check=True).stdout == content
    assert restored(packed) == content


@pytest.mark.parametrize("content", CONTENTS, ids=range(len(CONTENTS)))
def test_what_is_written_is_about_as_small_as_with_gzip(content: bytes) -> None:
    """A frame is at most a tenth larger than what zlib makes of the data, and never much larger than the data."""
    packed = len(packed_by_ours(content))
    assert packed <= len(zlib.compress(content)) * 1.1 + 32
    assert packed <= len(content) + 32


def test_repetitions_reach_back_into_the_block_before() -> None:
    """Data without patterns that comes again is written once."""
    content = Random(1).randbytes(100_000)
    assert len(packed_by_ours(content * 4)) < 110_000


@given(st.lists(st.binary(max_size=100)))
@settings(max_examples=examples(60), deadline=None)
def test_what_is_written_is_read_again(pieces: list[bytes]) -> None:
    """Data compressed in any pieces comes back."""
    compressor = ZstdCompressor()
    packed = b"".join(map(compressor.compress, pieces)) + compressor.flush()
    assert restored(packed, 7) == b"".join(pieces)


@needs_zstd
@given(st.integers(0, 2000), st.integers(1, 255))
@settings(max_examples=examples(60), deadline=None)
def test_damaged_frames_are_refused(place: int, change: int) -> None:
    """A changed byte gives an error, or still what was compressed, never other data."""
    packed = bytearray(subprocess.run(["zstd", "-c"], input=TEXT, capture_output=True, check=True).stdout)
    packed[place % len(packed)] ^= change
    decompressor = ZstdDecompressor()
    try:
        data = decompressor.decompress(bytes(packed))
    except ZstdError:
        return
    assert not decompressor.eof or data == TEXT


def test_the_hash_is_that_of_its_published_values() -> None:
    """XXH64 gives the known hashes of the empty text and of a short one."""
    assert XXHash64().value() == 0xEF46DB3751D8E999
    hashed = XXHash64()
    hashed.update(b"a")
    hashed.update(b"bc")
    assert hashed.value() == 0x44BC2CF5AD770999


def test_files_are_compressed_beside_themselves(tmp_path: Path) -> None:
    """zstd FILE writes FILE.zst and keeps FILE; zstd -d restores it, and zstdcat writes it out."""
    (tmp_path / "a").write_bytes(TEXT)
    assert ours(["zstd", "-q", "a"], cwd=tmp_path).status == 0
    assert (tmp_path / "a").exists()
    (tmp_path / "a").unlink()
    assert ours(["zstdcat", "a.zst"], cwd=tmp_path).stdout == TEXT
    assert ours(["unzstd", "-q", "--rm", "a.zst"], cwd=tmp_path).status == 0
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == TEXT
    done = ours(["zstd", "-d", "a"], cwd=tmp_path)
    assert done.status == 1
    assert b"unknown suffix" in done.stderr


def test_tar_uses_zstd(tmp_path: Path) -> None:
    """tar --zstd makes an archive that tar reads again without an option."""
    (tmp_path / "a").write_bytes(TEXT)
    assert ours(["tar", "--zstd", "-cf", "t.tar.zst", "a"], cwd=tmp_path).status == 0
    assert ours(["tar", "tf", "t.tar.zst"], cwd=tmp_path).stdout == b"a\n"
