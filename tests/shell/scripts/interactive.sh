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
# ----
for text in 'echo (' for case '&&' 'echo >'; do printf '%s\necho next $?\n' "$text" | HISTFILE= PS1= bash --norc -i 2>/dev/null; done
printf 'kill -INT $$\necho $?\nkill -TERM $$\necho survived\n' | HISTFILE= PS1= bash --norc -i 2>/dev/null; echo $?
printf 'PS1="\\#|\\!> "\necho a\n' | HISTFILE= PS1= bash --norc -i 2>&1 | tail -3
# ----
export HOME=$PWD; for name in bash_profile bash_login profile; do echo "echo $name; shopt login_shell" > .$name; done; echo 'echo out' > .bash_logout; echo 'echo env' > e
bash -lc 'echo a; exit 3'; echo $?; rm .bash_profile; bash --login -c :; rm .bash_login; bash -lc :; bash --noprofile -lc 'echo none'; bash --posix -lc 'echo posix'; echo 'logout' | bash -l; echo 'exit 4' > .profile; bash -lc 'echo no'; echo $?
BASH_ENV=./e bash -c :; echo : | BASH_ENV='$HOME/e' bash; BASH_ENV=./e bash --noprofile -lc :; ENV=$HOME/e bash --posix -ic 'echo i' 2>/dev/null; BASH_ENV=./e bash -ic 'echo i' 2>/dev/null; bash -c logout; echo $?
