"""The commands for find, beside the real ones of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from support_core import Case, cases, example_tree, same, same_effect

READING = cases(
    r"""
find nope
find a
find dir -type f -name f1
find . -maxdepth 1 -name 'a*'
find . -maxdepth 0
find . -name 'deep*' -print0
find dir/sub
find dir/sub -depth
find . -type l -name 'l*'
find . -iname 'A'
find . -path './dir/s*' -depth
find . -ipath './DIR/SUB'
find . -regex '.*/f1'
find . -regex './dir/\\(f1\\|sub\\)' -name f1
find . -regextype posix-extended -regex './(a|zz)'
find . -iregex './A'
find . -size +5k
find . -size 2 -name f2
find . -size -1 -type f
find . -size 768c
find . -mtime +1 -name a
find . -mtime -1 -name a
find . -mmin -5 -name a
find . -newer dup -name 'x*'
find . -newermt 2023-11-29 -name 'x*'
find . -newermt junk
find . -perm 755 -type f
find . -perm -100 -type f
find . -perm /111 -type f
find . -perm u=rwx,go=rx -type f
find . -perm zz
find . -user root -name a
find . -user nosuch
find . -group root -name a
find . -empty
find . -mindepth 2 -name deep.txt
find . -name dir -prune -o -name 'a' -print
find . -not -name '*' -o -name a
find . ! -type d -name 'b' -a -name 'b'
find . "(" -name zz -o -name b ")" -print
find . -name a , -name b
find a b -printf '%p %f %h %s %m %M %n %d %y %l %u %g %U %G %H %P\n'
find dir/sub -printf '%p|%f|%h|%P|%d\n'
find link broken -printf '%p %l %y %Y\n'
find a -printf '%t|%TY-%Tm-%Td|%T@|%T+|%TT|%TH:%TM\n'
find a -printf '%-10f|%10s|%05m|%#m|%k|%b|%%\n'
find a -printf 'x\\ty\\x\n'
find a -printf '%z\n'
find a -printf 'no newline\\c hidden\n'
find a -ls
find link -ls
find a b -exec echo {} ";"
find a b -exec echo x {} +
find a b -exec echo {}x{} ";"
find a -exec false ";" -print
find a -exec true ";" -print
find a b -exec false {} +
find dir/f1 -execdir echo {} ";"
find a b -exec no-such ";" -print
find a b -exec no-such {} +
find dir/f1 -execdir no-such ";"
find a b -exec ./dir {} ";"
find a -exec
find a -exec echo
find a -exec echo {} {} +
find a -ok echo {} ";" <<< "y\n"
find a -ok echo {} ";" <<< "n\n"
find . -maxdepth 1 -name a -quit
find a b -print -quit
find . -false
find . -true -name a
find . -links 2 -name dir
find . -links 1 -name a
find . -inum x
find . -samefile a
find -L . -samefile a -name link
find . -executable -type f
find . -readable -name a
find -L dlink -name f1
find -H dlink -name f1
find dlink -name f1
find -L . -type l
find . -xtype l
find . -lname 'no*'
find . -type x
find . -type f,l -name 'l*'
find . -type ''
find . -type fd
find -foo
find . -name
find . -name a b
find . a
find . "("
find . "(" -name a
find . ")"
find . -o -name a
find . -name a -o
find . -not
find . -maxdepth x
find . -maxdepth
find . -size x
find . -size 1z
find . -daystart -mtime -1 -name a
find . -name '[ab]'
find . -name '[!a-w]*'
find . -name '[[:upper:]]'
find . -name '\\a'
find . -regex '[a'
find a/
find dir/ -maxdepth 1 -name f1
find -maxdepth 1 -name a
find . -type d -empty
find . -wholename './a'
find ./a -printf '%h\n'
find . -name a -a
find . -name a -and -name a
find . -regextype foo
find . -uid 0 -name a
find . -nouser
find dir -type f -exec cat {} + -name f1
find a -printf '%Ta %Tb %Te %Tj %TS\n'
find . -name 'a' -printf '%p\n' -o -name 'b' -printf 'B %p\n'
"""
)

CHANGING = cases(
    r"""
find dir/f1 -delete
find dir -delete
find dir/sub -name nope -delete
find dir -name sub -delete
find a -fprint out
find a -fprintf out '%f\n'
"""
)


@pytest.mark.parametrize("case", READING, ids=str)
def test_find_prints_what_the_real_command_prints(case: Case) -> None:
    """Standard output, standard error and exit status are those of the real command."""
    same(case.argv, case.stdin, example_tree(), stderr=case.stderr)


@pytest.mark.parametrize("case", CHANGING, ids=str)
def test_find_leaves_the_files_that_the_real_command_leaves(case: Case, tmp_path: Path) -> None:
    """Output, exit status and every file afterwards are those of the real command."""
    same_effect(case.argv, case.stdin, tmp_path, stderr=case.stderr)
