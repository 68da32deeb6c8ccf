# Interactive shells, history, sources that are not UTF-8.
# ----
set -o history; shopt -s expand_aliases; echo one
echo two
history | tail -3; fc -l | tail -2; history -c; history
# ----
set -H; set -o history
echo hello
echo !!
!ec
echo !$ x
echo !echo:1
^hello^bye
# ----
echo 'echo rc; alias hi="echo hi there"' > rc; bash --rcfile rc -i -c 'hi; echo $0' 2>/dev/null; bash --rcfile rc -c 'echo noninter'; bash --norc -i -c 'echo x' 2>/dev/null; echo 'echo $x
echo q' | bash --norc -i 2>/dev/null; echo $?
# ----
export HISTFILE=$PWD/h; printf 'echo old1\necho old2\n' > h; echo 'history; echo new' | bash --norc -i 2>/dev/null; cat h
# ----
echo 'set -u; echo $undefined; echo after' | bash --norc -i 2>/dev/null; echo $?; bash --norc -i -c 'set -u; echo $undefined; echo after' 2>/dev/null; echo $?; bash -c 'set -u; echo $undefined; echo after' 2>/dev/null; echo $?
# ----
printf 'echo caf\xe9; x="\xff\xfe"; echo "$x" | od -An -tx1; echo ${#x}; printf %%s "\xe9" | wc -c\n' > s; bash s | od -An -tx1; printf 'f\xe9() { echo in; }; f\xe9; case "\xe9" in ?) echo one;; *) echo other;; esac; echo $'"'"'\\xe9'"'"' | od -An -tx1\n' > t; bash t
# ----
set -- a b; set -o posix; shift 5; echo no
# ----
x=5; echo $((x++ + ++x)) $x; let 'y = x ? 1 : 2' ; echo $y; echo $(( 08 )) ; echo no
