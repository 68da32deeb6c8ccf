"""The commands for encodings and digests, beside the real ones of this machine."""

from __future__ import annotations

import pytest
from harness import Case, cases, example_tree, same

READING = cases(
    r"""
base64 a
base64 bin
base64 -w 20 bin
base64 -w0 bin
base64 -d <<< "b25lCnR3bw=="
base64 -d <<< "b25l\nCnR3\nbw==\n"
base64 -d <<< "b25l!CnR3bw=="
base64 -di <<< "b25l!CnR3bw=="
base64 -d <<< "b25lC"
base64 -d <<< "b25lCg"
base64 nope
base64 a b
base64 -w x a
base64 dir
base64 empty
base32 bin
base32 -d <<< "N5XGKCTUO5XQ===="
basenc --base16 a
basenc --base16 -d <<< "6F6E65"
basenc --base64url bin
basenc --base32hex a
basenc --base2msbf a
basenc --base2lsbf a
basenc --z85 <<< "hell"
basenc --z85 -d <<< "xK#0@"
basenc a
md5sum a b
md5sum nope a
md5sum dir
md5sum <<< x
md5sum -b a
md5sum --tag a
sha1sum a
sha224sum a
sha256sum a b
sha384sum a
sha512sum a
b2sum a
b2sum -l 256 a
b2sum --tag -l 128 a
cksum a b
cksum bin
cksum <<< abc
cksum empty
cksum -a md5 a
cksum -a sha256 --untagged a
sum a b
sum bin
sum -s bin
sum <<< abc
md5sum -c <<< "5bbf5a52328e7439ae6e719dfe712200  a\n"
md5sum -c --quiet <<< "d41d8cd98f00b204e9800998ecf8427e  empty\nd41d8cd98f00b204e9800998ecf8427e  a\n"
md5sum -c --status <<< "d41d8cd98f00b204e9800998ecf8427e  a\n"
md5sum -c --strict -w <<< "d41d8cd98f00b204e9800998ecf8427e  empty\njunk\n"
md5sum -c <<< "MD5 (empty) = d41d8cd98f00b204e9800998ecf8427e\n"
md5sum -c nope
md5sum --quiet a
cksum -c <<< "MD5 (empty) = d41d8cd98f00b204e9800998ecf8427e\n"
sha256sum -z a
"""
)


@pytest.mark.parametrize("case", READING, ids=str)
def test_coreutils_encodings_prints_what_the_real_command_prints(case: Case) -> None:
    """Standard output, standard error and exit status are those of the real command."""
    same(case.argv, case.stdin, example_tree(), stderr=case.stderr)


def test_check_reports_each_file_and_counts_failures() -> None:
    """`-c` reports good, bad, missing and badly written entries as the real command does."""
    empty = b"d41d8cd98f00b204e9800998ecf8427e  "
    listing = empty + b"empty\n" + empty + b"a\n" + empty + b"nope\njunk\n"
    same(["md5sum", "-c"], listing, example_tree())
    same(["md5sum", "-c", "--strict", "-w"], listing, example_tree())
    same(["md5sum", "-c", "--ignore-missing", "--quiet"], listing, example_tree())
