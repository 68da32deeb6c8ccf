# What stands in the history, with which numbers, and `fc`.
# ----
set -o history; history -c; HISTSIZE=2
echo a
echo b
history
history -s foo
history
HISTSIZE=1
history
HISTSIZE=5
history
echo q
history -d 1; echo $?
history; echo $HISTCMD
history -d -1
history
# ----
set -o history; history -c; HISTCONTROL=ignorespace:ignoredups
 echo sp
echo a
echo a
history
HISTCONTROL=erasedups
echo b
echo a
history
HISTCONTROL=ignoreboth
history -s ' x'; history -s y; history -s y; history
# ----
set -o history; history -c; HISTIGNORE='echo*:history:&'
echo no
ls -d /
ls -d /
history
pwd > /dev/null
history | cat
HISTIGNORE=
echo yes
history
# ----
HISTSIZE=0; set -o history; echo a; history
HISTSIZE=-1
echo b
history
HISTSIZE=abc
echo c
history
unset HISTSIZE
history
# ----
set -o history; history -c
for i in 1 2; do
 echo $i
done
cat <<E
x
E
echo "a
b"
if true; then echo c; fi # comment
# only comment
f() {
:
}
history
shopt -u cmdhist
for i in 1; do
:
done
history
shopt -s cmdhist lithist
for i in 1; do
:
done
history
# ----
set -o history; history -c
echo one
echo two
fc -s one
fc -s two=2 echo
fc -l
fc -ln -2
fc -lr 1 2
fc -l echo
fc -s nosuch; echo $?
r() { fc -s "$@"; }
fc -l 5 99; echo $?
fc -z; echo $?
FCEDIT=true fc 1; echo $?
fc -e true -1; echo $?
printf '#!/bin/sh\necho echo edited > $1\n' > ed; chmod +x ed
fc -e ./ed 1
EDITOR=./ed fc
fc -e ./ed 1 2
# ----
set -H; set -o history
echo a b c
echo !$
echo !^ !* !:0 
echo !-2
!echo:p
echo !?b?
echo !!:s/a/z/
echo !#
echo "!" '!!' \!
echo !nosuch
echo ok $?
^ok^okay
echo !!:h !!:t
echo /a/b.c
echo !$:h !$:t !$:r !$:e
# ----
set -o history; history -c
for i in 1 2
do
  echo $i
done
case x in
  x) echo 1
  ;;
  y|z)
     echo 2;;
esac
while false; do
:
done
if true &&
 true
then
echo a |
cat
else
echo b
fi
echo one \
two
( echo sub
echo sub2
)
a=(1
2
3)
echo 'multi
line' "dq
line"
{
echo g
} > f
cat <<E; echo after
body
E
f() {
cat <<E
in f
E
echo x
}
function g
{
:
}
until true
do :; done
[[ a == a &&
b == b ]]
x=$(echo a
echo b)
for ((i=0;i<1;i++))
do
:

done
history
