"""The commands for files that come, go and change, beside the real ones of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from support_core import Case, cases, same_effect

CHANGING = cases(
    r"""
cp a c
cp a dir
cp a nope/x
cp nope c
cp dir d2
cp -r dir d2
cp -r dir dlink
cp -rv dir/sub d2
cp -a dir d2
cp -a link l2
cp link l2
cp -P link l2
cp a b
cp -n a b
cp -v a b dir
cp a b nope
cp a b bin
cp
cp a
cp a a
cp -r dir dir/x
cp -r dir a
cp a -T dir
cp -t dir a b
cp -t nope a
cp -b a b
cp --backup=numbered -v a b
cp -S .bak -b a b
cp -u a b
cp -u b a
cp -l a c
cp -s a c
cp -p run.sh r2
cp --parents dir/sub/deep.txt dlink
cp --parents -v dir/sub/deep.txt dlink
cp -i a b <<< "n\n"
cp -i a b <<< "y\n"
cp a broken
cp -f a broken
cp run.sh r2
cp -d broken b2
cp -rL . /tmp/nope/x
cp a c/
cp -r dir d2/
cp --preserve=foo a c
cp -ln a c
cp -r dir/sub dir/f1 dlink
cp --remove-destination a link
cp a link
cp -L link c
cp -rP dlink d2
cp -rH dlink d2
mv a c
mv a b
mv a dir
mv nope c
mv a b dir
mv dir d2
mv dir dir/sub
mv dir a
mv a -T dir
mv a a
mv -v a c
mv -n a b
mv -b a b
mv -i a b <<< "n\n"
mv -u a b
mv -t dir a b
mv
mv a
mv a b bin
mv a c/
mv dir/ d3
mv link dlink
mv broken x
mv a nope/x
mv dir/sub .
mv -f a b
install a c
install -m 644 a c
install -d x/y/z
install -dv x/y
install -D a x/y/c
install -Dv a x/y/c
install -v a b
install -t dir a b
install dir c
install nope c
install
install -m zz a c
rm a
rm nope
rm -f nope
rm dir
rm -r dir
rm -d dir
rm -d dir/sub
rm -rf dir nope
rm
rm -f
rm .
rm -r .
rm -rf ..
rm -r /
rm -i a <<< "n\n"
rm -i a <<< "y\n"
rm -i empty <<< "y\n"
rm -v link dlink
rm -I a b csv num <<< "n\n"
rm dlink/
rm a/
rm -v 'x y'
rmdir dir
rmdir nope
rmdir a
rmdir -p dir/sub
rmdir --ignore-fail-on-non-empty dir
rmdir -v dir
rmdir dlink/
rmdir
unlink a
unlink dir
unlink nope
unlink
mkdir x
mkdir a
mkdir x/y
mkdir -p x/y/z
mkdir -pv x/y/z dir
mkdir -m 700 x
mkdir -m u=rwx,go= x
mkdir -m zz x
mkdir -p a
mkdir -p a/b
mkdir -v x y
mkdir
mkdir -p dir/sub
ln a h
ln -s a s
ln a b
ln -f a b
ln -s a b
ln -sf a b
ln -sfn a dlink
ln -sf a dlink
ln nope x
ln dir x
ln -s dir/f1 dir
ln -sv a s
ln -v a h
ln -sr dir/f1 dir/sub/l
ln -s dir/f1
ln -t dir a b
ln -st dir a b
ln -sT a dir
ln a b nope
ln
ln -r a b
ln -sb a b
ln a a
ln -f a a
ln -s '' x
link a h
link a
touch a
touch new
touch -c new
touch -d 2020-01-01 a
touch nope/x
touch -t 202001021530 a
touch -t 2001021530.45 a
touch -t 99 a
touch -r b a
touch
touch -d junk a
touch dir
chmod 600 a
chmod u+x a
chmod -x run.sh
chmod +x a
chmod a=r a
chmod u=rw,g=r,o= a
chmod g=u a
chmod -R go-rx dir
chmod -v 600 a
chmod -v 644 a
chmod -c u+x a
chmod zz a
chmod 600 nope
chmod 600
chmod
chmod 99999 a
chmod u+s run.sh
chmod +t dir
chmod a+X a run.sh dir
chmod --reference=run.sh a
chmod 600 broken
chmod -f 600 nope
chmod = a
chmod o=t dir
chmod ug+rw,o-r a
chmod 0755 a
chmod u-w,+x a
chmod 2755 dir
chown root a
chown -v root a
chown root:root a
chown nosuch a
chown root nope
chown
chown root
chgrp root a
chgrp -v root a
chgrp nosuch a
mktemp -u -p nope/x foo
mktemp fooXX
mktemp nope/XXXXXX
mktemp a b
mktemp -d nope/XXXXXX
mktemp --suffix=/x XXXX
"""
)


@pytest.mark.parametrize("case", CHANGING, ids=str)
def test_coreutils_files_leaves_the_files_that_the_real_command_leaves(case: Case, tmp_path: Path) -> None:
    """Output, exit status and every file afterwards are those of the real command."""
    same_effect(case.argv, case.stdin, tmp_path, stderr=case.stderr)
