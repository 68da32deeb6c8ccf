"""The commands for output, environment and other commands, beside the real ones of this machine."""

from __future__ import annotations

import pytest
from harness import Case, cases, example_tree, ours, same

READING = cases(
    r"""
echo a b
echo -n a
echo -e "a\\tb\\x41\\0101\\c zz"
echo -E "a\\tb"
echo -neE x
echo -x
printf '%s\\n' a b c
printf '%d %x %o\\n' 10 255 8
printf '%5s|%-5s|%05d\\n' a b 3
printf '%.2f\\n' 3.14159
printf '%s'
printf
printf '%d\\n' abc
printf '%d\\n' 12abc
printf '%d\\n' 0x1f 010
printf '%c%c\\n' abc d
printf '%b\\n' 'a\\tb'
printf '%q\\n' 'a b'
printf '%%\\n'
printf 'a\\n' b c
printf '%*d\\n' 5 3
printf '%e\\n' 1234.5
printf '%g\\n' 0.0001
printf '%d\\n' "'A"
printf '\\x41\\101\\u00e9\\n'
printf '%s %s\\n' a b c
printf '%i\\n' -5
printf '%u\\n' -1
printf '%+d % d\\n' 5 5
printf '%.3d\\n' 5
printf '%.3s\\n' abcdef
true x
false x
env -i A=1 B=2
env -u LC_ALL -u PATH -u TZ -u HOME
env -i PATH=/bin:/usr/bin echo hi
env -i A=1 env
env A=1 printenv A
env -S 'A=1 printenv A'
env -0 -i A=1
env -C dir pwd
env -C dir
env --foo
env -i -S 'printf "%s|" "a b" c\\_d'
printenv HOME NOPE
printenv HOME
nice echo hi
nice -n 5 echo hi
nice -n x echo
nohup echo hi
env no-such
env "no such"
env ''
env ./no-such
env ./dir
env -i A=1 no-such
env -C dir no-such
env -C no-such ls
env -S "no-such a"
nice no-such
nice ./dir
nohup no-such
stdbuf -o L no-such
timeout 5 no-such
timeout 0 no-such
timeout 5 ./dir
setsid no-such
flock a no-such
chroot / no-such
timeout 5 echo hi
timeout 5 false
timeout 0.1 sleep 5
timeout --preserve-status 0.1 sleep 5
timeout x echo
timeout -v 0.1 sleep 3
sleep 0
sleep x
sleep 0.01 0.01
sleep
id
id -u
id -un
id -g
id -G
id nosuchuser
id -n
id -ug
whoami
groups
uname
uname -s -m
uname x
arch
tty
tty -s
users
getconf NOPE
"""
)


@pytest.mark.parametrize("case", READING, ids=str)
def test_coreutils_running_prints_what_the_real_command_prints(case: Case) -> None:
    """Standard output, standard error and exit status are those of the real command."""
    same(case.argv, case.stdin, example_tree(), stderr=case.stderr)


def test_timeout_ends_a_command_that_writes_without_end() -> None:
    """An endless writer is stopped when its time is over, with status 124 and its output so far."""
    outcome = ours(["timeout", "0.5", "yes"])
    assert outcome.status == 124
    assert outcome.stdout.startswith(b"y\ny\n")
