"""gzip, bzip2 and xz, in sequences of commands beside the real ones of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import ours, real, same_sequence
from hypothesis import given, settings
from hypothesis import strategies as st

#: Commands separated by `;;`; one after `!` is the real one in both places.
SEQUENCES = """
! ln a h ;; tar cf x.tar a h ;; ! tar tvf x.tar ;; mkdir o ;; tar xf x.tar -C o ;; tar tvf x.tar
gzip a ;; gunzip a.gz
gzip -k a ;; zcat a.gz ;; gunzip -c a ;; gzip -t a.gz ;; gzip -d a.gz
gzip -9 a b ;; gunzip -v a b
bzip2 a ;; bunzip2 a.bz2
bzip2 -k a ;; bzcat a.bz2 ;; bzip2 -t a.bz2
xz a ;; unxz a.xz ;; xz -k a ;; xzcat a.xz ;; xz -l a.xz ;; xz -t a.xz
gzip -r dir ;; gunzip -r dir
gzip -k a ;; gzip -l a.gz ;; gzip -lv a.gz ;; gzip a
""".strip().splitlines()


@pytest.mark.parametrize("line", SEQUENCES)
def test_compression_does_what_the_real_commands_do(line: str, tmp_path: Path) -> None:
    """Compressed files go both ways between ours and the real commands."""
    same_sequence(line, tmp_path)


@pytest.mark.parametrize(("pack", "unpack"), [("gzip", "gunzip"), ("bzip2", "bunzip2"), ("xz", "unxz")])
@given(data=st.binary(max_size=3000), times=st.integers(1, 50))
@settings(max_examples=15, deadline=None)
def test_compressed_streams_are_read_by_the_real_command_and_back(
    pack: str, unpack: str, data: bytes, times: int
) -> None:
    """What one side compresses the other restores, members that follow each other included."""
    data = data * times
    assert real([unpack, "-c"], ours([pack, "-c"], data).stdout).stdout == data
    packed = real([pack, "-c"], data).stdout
    assert ours([unpack, "-c"], packed + packed).stdout == data + data


@pytest.mark.parametrize("command", ["gunzip", "bunzip2", "unxz"])
def test_damaged_input_is_an_error(command: str) -> None:
    """What is not compressed data gives a message and a status that is not zero, never data."""
    outcome = ours([command, "-c"], b"this is not compressed")
    assert outcome.status
    assert outcome.stderr
    assert not outcome.stdout


def test_input_cut_short_is_an_error_after_what_could_be_read() -> None:
    """A gzip stream without its end gives its beginning and a status of 1, as the real command does."""
    packed = real(["gzip", "-c"], b"hello world\n" * 5000).stdout[:-12]
    expected, got = real(["gzip", "-dc"], packed), ours(["gzip", "-dc"], packed)
    assert (got.stdout, got.status) == (expected.stdout, expected.status)
