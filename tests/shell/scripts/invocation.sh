# The command line of bash, restricted shells, POSIX mode and deaths of commands.
# ----
bash -norc -c 'echo a'; bash -posix -c 'shopt -o posix'; bash -i --norc -c x 2>/dev/null; echo $?; bash -O nosuch -c x 2>/dev/null; echo $?; bash -o | head -2; bash +O | tail -1
# ----
echo 'echo $0 $1' > s; mkdir bin; mv s bin/inpath; PATH=$PWD/bin:$PATH bash inpath z; printf 'echo a\0\n' > n; bash n 2>/dev/null; echo $?; bash / 2>/dev/null; echo $?; echo 'echo v' > v; bash -v v 2>&1
# ----
for c in 'cd /' 'echo > f' /bin/ls 'PATH=x' 'exec ls' 'command -p ls' 'set +r' '. ./x' 'enable -f a b' 'hash -p /bin/ls l' 'history -r a/b' 'echo $-' 'shopt restricted_shell' 'unset PATH; echo $?' 'echo <&0 >&2'; do bash -r -c "$c" </dev/null 2>/dev/null; echo $?; done; set -r; cd /; echo $? $-
# ----
for c in 'set -o nosuch' 'unset -x' ': > /nope/x' "eval 'if'" 'readonly r=1; r=2 echo hi' 'export() { :; }' 'f-g() { :; }' '. /nope' 'shift 5' 'break' 'export 1x=2' 'command set -o nosuch' 'trap x NOPE'; do bash --posix -c "$c; echo after \$?" 2>/dev/null; echo $?; done
# ----
set -o posix; alias a=b; alias; trap 'x' INT; trap; type break; echo $POSIXLY_CORRECT; set +o posix; echo ${POSIXLY_CORRECT-unset}; POSIXLY_CORRECT=; shopt -o posix; POSIXLY_CORRECT=1 bash -c 'shopt -o posix'
# ----
{ (kill -9 $BASHPID); (kill -HUP $BASHPID); bash -c 'kill -USR1 $$'; bash -c 'kill -TERM $$'; trap : USR2; (trap - USR2; kill -USR2 $BASHPID); timeout -s KILL 0.1 sleep 5; timeout -k 0.1 0.1 bash -c 'trap "" TERM; sleep 5'; echo $?; bash -c 'kill -9 $$' 2>/dev/null; } 2>&1 | sed -E 's/: +[0-9]+ /: N /'
# ----
bash --norc -i 2>/dev/null <<'X'
exec nosuch
echo a $?
set -o posix
. /nope
return
echo b $?
echo "${x?}"
echo c
X
# ----
bash <(echo 'echo hi'); bash <(echo 'echo $1') arg; echo x | bash <(echo 'cat'); bash <(exit 3); echo $?
bash /dev/stdin a <<< 'echo $1'; exec 5<<< 'echo five'; bash /dev/fd/5; bash -x <(echo 'echo traced') 2>&1
bash nosuch; echo $?; bash /; echo $?; bash ''; echo $?; touch e; bash e/x; echo $?
