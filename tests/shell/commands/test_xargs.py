"""The commands for xargs, beside the real ones of this machine."""

from __future__ import annotations

import pytest
from harness import Case, cases, example_tree, same

READING = cases(
    r"""
xargs <<< "a b\nc"
xargs echo x <<< "a b\nc"
xargs -n 1 <<< "a b c"
xargs -n 2 echo y <<< "a b c"
xargs -I{} echo "<{}>" <<< "a b\n c \n"
xargs -I X echo X-X <<< "1\n2"
xargs -0 <<< "a b\0c\0"
xargs -d , <<< "a,b,c"
xargs -L 1 <<< "a b\nc d\n"
xargs -L 2 echo <<< "a\nb\nc\n"
xargs -L 1 <<< "a \nb\nc\n"
xargs -L 1 <<< "a\nb c \nd\n\n e f\ng"
xargs -n 2 <<< "a\tb\n\n c 'd e'f\ng\\\nh\n\\ i"
xargs -r echo hi
xargs echo hi
xargs false <<< "a"
xargs -n1 false <<< "a b"
xargs -t echo <<< "a b"
xargs <<< "'a b' \"c d\" e\\ f"
xargs <<< "it's"
xargs <<< "a \"b"
xargs -E END <<< "a b END c"
xargs -a a echo
xargs -a nope echo
xargs -s 20 echo <<< "aaaa bbbb cccc dddd eeee"
xargs -n x
xargs -n 0
xargs -P 1 -n 1 echo <<< "a b"
xargs --foo
xargs -x -n 3 -s 12 echo <<< "aaaa bbbb cccc"
xargs -i echo {}. <<< "a\nb"
xargs sh -c 'exit 255' <<< "a"
xargs -n1 sh -c 'exit 3' <<< "a b"
xargs cat <<< "a b"
xargs -n1 -I{} echo {} <<< "a b"
xargs -d xx
xargs -l echo <<< "a b\nc"
xargs no-such
xargs -I{} no-such {} <<< "a\nb"
xargs ./dir <<< "a"
"""
)


@pytest.mark.parametrize("case", READING, ids=str)
def test_xargs_prints_what_the_real_command_prints(case: Case) -> None:
    """Standard output, standard error and exit status are those of the real command."""
    same(case.argv, case.stdin, example_tree(), stderr=case.stderr)
