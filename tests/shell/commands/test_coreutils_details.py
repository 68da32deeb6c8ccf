"""Old forms, limits and rare options of coreutils commands beside the real ones."""

from __future__ import annotations

import pytest
from support_core import Case, cases, same

READING = cases(
    r"""
cut -d $NL -f1 <<< "a:1\nb:"
cut -s -d $NL -f2 <<< "\nb"
tail -l <<< "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n"
tail +3 <<< "1\n2\n3\n4\n"
tail +2c <<< "abcdef"
tail -2c <<< "abcdef"
tail -c99999999999999999999 <<< "x"
tail -2 nothing nowhere
expand --tabs=/5 <<< "\ta\tb"
expand --tabs=3,/5 <<< "\ta\tb\tc"
expand --tabs=+,+5 <<< "\ta\tb"
expand --tabs=/3,6 <<< "a"
expand --tabs=3/ <<< "a"
unexpand -t 1 <<< " b  c   d\n"
unexpand -a <<< "1234567 x\n"
unexpand -a <<< "        x\n"
unexpand -t 2,3,8 <<< "a   b     c\n"
sort +1 -2 <<< "y k b\nz k a\nx a c\n"
sort -s +0 -1.1 <<< "a c\na b\n"
sort -t : +1.1 -1.2 <<< ":ba\n:ab\n"
sort +0 +1nr <<< "b 2\nb 1\nb 3\n"
sort -k 99999999999999999999 <<< "2\n1\n"
sort -k 3 <<< "b b\na\nc c  a\n"
sort -o x -o y <<< "1"
sort --files0-from=- <<< "-\0"
sort --files0-from=/dev/null
wc --files0-from=- <<< "\0"
wc --files0-from=- x
uniq +1 <<< "baa\naaa\n"
join - /dev/stdin <<< ""
numfmt --from-unit=99999999999999999999 1
numfmt --padding=-99999999999999999999 1
numfmt --delimiter= --from=si "4.0 K"
numfmt --field=- --to=si "1000 2000 3000"
numfmt --field 2,- --to=si "1000 2000 3000"
numfmt --field 1 --field 2 5
numfmt .1
numfmt ..1
numfmt --format=%%%f%% 5000
numfmt --debug 5000
numfmt --debug --header --to=iec 4096
numfmt --debug --invalid=warn Foo
numfmt "--format=%'f" --to=si 1000
dd cbs=5 conv=block status=none <<< "ab\nabcdefgh\nx"
dd cbs=5 conv=block status=noxfer <<< "ab\nabcdefgh\nx"
dd cbs=3 conv=unblock status=none <<< "a  b  cdef"
dd ibs=10 cbs=10 status=noxfer conv=block,sync <<< "01234567\nabcdefghijkl\n"
pr --pages=x /dev/null
pr --pages=9x /dev/null
pr --pages=3:2 /dev/null
pr --pages=99999999999999999999999 /dev/null
rm ""
rm -f ""
comm --output-delimiter=, --output-delimiter=+ - -
"""
)


@pytest.mark.parametrize("case", READING, ids=str)
def test_rare_forms_do_what_the_real_command_does(case: Case) -> None:
    """Old forms of options, values out of range and rare options give what the real command gives."""
    argv = ["\n" if word == "$NL" else word for word in case.argv]
    same(argv, case.stdin, stderr=case.stderr)


@pytest.mark.parametrize("delimiter", ["", ","])
def test_comm_separates_columns_with_the_delimiter_or_a_zero_byte(delimiter: str) -> None:
    """An empty --output-delimiter of comm stands for a zero byte."""
    same(["comm", f"--output-delimiter={delimiter}", "/etc/hostname", "-"], b"zz\n")


PERMUTED = b"""foo bar baz
the "quick" fox %x & $y {z} \\a # _b ~ ^
more lines. And text here
"""


@pytest.mark.parametrize("style", ["-O", "-T", "-O -r", "-T -A -w 30", "-M foo -O -F xx", "-G -w 200", ""])
def test_ptx_writes_for_roff_and_tex(style: str) -> None:
    """The permuted index comes as calls of a macro of roff or TeX, quoted as those need it."""
    same(["ptx", *style.split()], PERMUTED)
