"""The commands for numbers, beside the real ones of this machine."""

from __future__ import annotations

import pytest
from support_core import Case, cases, example_tree, same

READING = cases(
    r"""
seq 5
seq 2 5
seq 1 2 10
seq 5 1
seq 5 -1 1
seq -w 8 11
seq -w 1 100
seq -s , 5
seq -f %03g 3
seq 0.1 0.1 0.5
seq 1 0.5 3
seq -w 0.5 1 10
seq -w 1 0.25 2
seq -f '%.2f' 1 3
seq -f 'x%gy%%' 3
seq -f x 3
seq -f '%d' 3
seq -f '%g %g' 3
seq a
seq 1 0 5
seq
seq 1 2 3 4
seq -5
seq -3 3
seq -w -3 3
seq 1e2 103
seq 1.5
seq 10 -2.5 0
seq 0x10 0x12
seq -s '' 3
seq 1 -1
seq 9999999 10000002
seq 100000000000000000000 100000000000000000002
seq -f %e 1 2
seq -w 9.5 10
seq 0.9 1.05
seq 1 1.0
seq -w 1 10.00
seq -w 5 -1 -5
factor 12 97 1 0 1000000007 18446744073709551615
factor x 5
factor 1000000016000000063
factor -3
factor <<< "12 13\n14"
numfmt --to=iec 1024
numfmt --to=si 1500
numfmt --to=iec-i 123456789
numfmt --from=iec 1K
numfmt --from=iec 1Ki
numfmt --from=iec-i 1K
numfmt --from=auto 1Ki 1K
numfmt --from=si 1.5M
numfmt 1K
numfmt abc
numfmt --to=foo 1
numfmt --padding=10 5
numfmt --padding=-10 5
numfmt --suffix=B 5
numfmt --suffix=B --to=si 5000
numfmt --format=%10.2f 3.14159
numfmt --format='<%06.1f>' 3.14159
numfmt --round=up --to=si 1499
numfmt --round=nearest --to=si 1449
numfmt --to=si 999999
numfmt --to=si 9999
numfmt --to=iec 1023 1024 10239 10240 1048575
numfmt --from-unit=512 4
numfmt --to-unit=1024 4096
numfmt --field 2 --to=si <<< "a 1000 b\nc 2000 d\n"
numfmt --field 2- --to=si <<< "1000 1000 5000\n"
numfmt -d, --field 2 --to=si <<< "a,1000,b\n"
numfmt --header --to=si <<< "size\n1000\n"
numfmt --invalid=ignore abc 5
numfmt --invalid=warn abc 5
numfmt --invalid=fail abc 5
numfmt --to=si <<< "   1000\n2000\n"
numfmt -- -5
numfmt --to=si -1500
numfmt 1.5
numfmt 1.
numfmt 123456789012345678901
numfmt --to=si 123456789012345678901
numfmt --format=%d 1
numfmt --format=x 1
numfmt --format=%.3f --to=iec 1500
numfmt --from=si 1Q
numfmt --from=si 1Kx
numfmt --to=si 0
numfmt 5e3
numfmt ' 5'
numfmt ''
numfmt --to=iec 1099511627776
expr 1 + 2
expr 2 '*' 3
expr 7 / 2
expr 7 % 3
expr -7 / 2
expr -7 % 3
expr 1 / 0
expr a = a
expr a '<' b
expr 10 '<' 9
expr 1 '|' 2
expr 0 '|' 2
expr '' '|' ''
expr 1 '&' 2
expr 0 '&' 2
expr abc : 'a\\(.\\)c'
expr abc : 'a.*'
expr abc : x
expr abc : '\\(x\\)'
expr length hello
expr substr hello 2 3
expr index hello lo
expr match hello 'h.*l'
expr '(' 1 + 2 ')' '*' 3
expr + length
expr 1 +
expr
expr 1 2
expr a + 1
expr '(' 1
expr ')'
expr 99999999999999999999 + 1
expr 0
expr 00
expr substr hello 0 3
expr 1 = 1.0
expr abc : '^a'
expr 'a*c' : 'a\\*c'
expr aaa : 'a\\{2\\}'
expr '(' 1 2 ')'
expr 1 != 2
expr -- 1 + 1
"""
)


@pytest.mark.parametrize("case", READING, ids=str)
def test_coreutils_numbers_prints_what_the_real_command_prints(case: Case) -> None:
    """Standard output, standard error and exit status are those of the real command."""
    same(case.argv, case.stdin, example_tree(), stderr=case.stderr)
