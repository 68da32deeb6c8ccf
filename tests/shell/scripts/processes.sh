# Traps, signals and jobs as processes have them.
# ----
f() { trap 'echo ret' RETURN; return 3; }; f; echo $?; trap 'return 5' USR1; g() { kill -USR1 $$; echo no; }; g; echo $?
# ----
trap 'echo t; return' USR1; f() { kill -USR1 $BASHPID; echo no; }; f; echo $?; f() { (exit 4); kill -USR1 $$; echo no; }; f; echo $?
# ----
trap 'echo e $?; exit' EXIT; exit 3
# ----
trap 'exit 7' EXIT; exit 3
# ----
trap 'false' EXIT; true
# ----
trap 'echo x; exit' USR1; false; kill -USR1 $$; echo no
# ----
(trap 'echo sub exit' EXIT; echo in); echo $?; (trap 'exit 9' EXIT; exit 2); echo $?; x=$(trap 'echo e' EXIT; echo in); echo "$x"; { trap 'echo pipe' EXIT; echo q; } | cat; echo done; echo z | { trap 'echo late' EXIT; cat; }; (echo a; trap 'echo b' EXIT; echo c) | cat; for i in 1 2; do trap "echo loop $i" EXIT; done | cat; if true; then trap 'echo iff' EXIT; fi | cat; while true; do trap 'echo w' EXIT; break; done | cat; case x in x) trap 'echo cs' EXIT;; esac | cat
# ----
trap '' TERM; bash -c 'kill $$; echo survived; trap; trap - TERM; kill $$; echo still'; (kill $BASHPID; echo sub ok); sleep 0.3 & kill $!; wait $!; echo $?
# ----
(trap 'echo job term; exit 5' TERM; sleep 1; echo no) & sleep 0.3; kill $!; wait $!; echo $?
# ----
(trap 'echo job term' TERM; sleep 0.5; sleep 0.5; echo end) & sleep 0.3; kill $!; wait $!; echo $?
# ----
trap 'echo usr' USR1; (sleep 0.3; kill -USR1 $$) & wait; echo $?; wait; echo $?
# ----
trap 'echo usr; exit 3' USR1; (sleep 0.3; kill -USR1 $$) & wait; echo no
# ----
kill -0 $$; echo $?; kill -0 99999; echo $?; kill -TERM; echo $?; kill -l 9 TERM 137; kill -s INT 2>&1 | head -1; kill xyz; echo $?; kill %9; echo $?
# ----
set -k; f() { echo "$# $*: $x"; }; f a x=1 b; echo "[$x]"; bash -c 'echo $y' y=5; set +k; f a x=1
# ----
sleep 0.5 & kill -9999 $! >/dev/null; echo $?; wait $!; echo $?; sleep 0.5 & kill -15 %%; wait %%; echo $?; wait %%; echo $?; sleep 0.5 & sleep 1 & kill -15 %-; echo $?; wait %-; echo $?
# ----
trap 'echo usr' USR1; (sleep 0.3; kill -USR1 $$) & read x < <(sleep 0.8; echo hi); echo $? $x
# ----
trap 'echo usr' USR1; (sleep 0.2; kill -USR1 $$; sleep 0.2; echo hi) | { read x; echo $? $x; }; echo end
# ----
trap 'echo usr' USR1; (sleep 0.2; kill -USR1 $$) & sleep 0.5; echo slept
# ----
trap 'echo X' USR1; sh -c "kill -USR1 $$"; echo after; f() { kill -USR1 $$; echo in f; }; f; eval 'kill -USR1 $$; echo ev'; kill -USR1 $$ & wait $!; wait; echo ended
# ----
trap 'echo trapped $?; (exit 44)' USR1; false; kill -USR1 $$; echo $?; f() { trap 'echo inner; return 7' USR1; kill -USR1 $$; echo not; }; f; echo $?
# ----
echo 'trap "echo src-exit" EXIT; exit 4' > s; (. ./s; echo no); echo $?; bash s; echo $?; bash -c '. ./s'; echo $?; f() { exit 5; }; (trap 'echo fe $?' EXIT; f); echo $?; (trap 'echo a; exit 2' EXIT; set -e; false; echo no); echo $?; (set -e; trap 'echo err $?' ERR; trap 'echo ex $?' EXIT; false); echo $?
# ----
# A job that outlives the shell that started it goes on.
sh -c '(until [ -e go ]; do sleep 0.02; done; echo late > out) & echo now'
echo before
: > go
until [ -s out ]; do sleep 0.02; done
cat out
# ----
# A process of another shell can be signalled by its number.
p=$(sh -c 'sleep 1000 > /dev/null 2>&1 & echo $!')
kill -0 "$p" && echo alive
bash -c "kill $p" && echo killed
# ----
# setsid --fork and disown: nothing waits for them.
setsid -f sh -c 'until [ -e go ]; do sleep 0.02; done; echo one > first'
(until [ -e go ]; do sleep 0.02; done; echo two > second) &
disown
: > go
until [ -s first ] && [ -s second ]; do sleep 0.02; done
cat first second
# ----
# Jobs of the shell around go on while a script in another shell waits.
(until [ -e go ]; do sleep 0.02; done; echo done > out) &
bash -c ': > go; until [ -s out ]; do sleep 0.02; done; cat out'
wait
# ----
# exec in a job does not hold up the others, and runs no trap of the shell that it replaces.
bash -c 'exec sleep 1000' & p=$!
(trap 'echo trap' EXIT; exec echo replaced) &
wait $!
kill $p
wait $p
echo $?
bash -c 'exec no-such-program' 2> /dev/null &
wait $!
echo $?
# ----
set -m; sleep 5 & a=$!; kill -STOP %1; sleep 0.1; jobs; kill -CONT %1; sleep 0.1; jobs; disown; kill -KILL $a; jobs
# ----
set -m; sleep 5 & a=$!; kill -STOP $a; sleep 0.1; jobs -l | sed 's/  *[0-9][0-9]* / N /'; jobs -s; jobs -r; bg %1; sleep 0.1; jobs; disown; kill -9 $a; echo $?
# ----
sleep 5 & kill -STOP $!; sleep 0.1; kill -TERM $!; kill -CONT $!; wait $!; echo $?
# ----
set -m; sleep 5 & a=$!; sleep 6 & b=$!; kill -STOP %1; sleep 0.1; jobs; kill -CONT %1; disown %1 %2; kill -KILL $a $b; jobs
# ----
{ trap 'echo T' TERM; sleep 0.3; echo end; } & sleep 0.1; kill -STOP $!; kill -TERM $!; sleep 0.2; kill -CONT $!; wait; echo $?
# ----
set -m; sleep 0.2 & jobs; wait; jobs; echo $?; sleep 5 & kill -9 $!; wait $!; echo $?; sleep 5 & kill $!; wait; sleep 5 & kill -HUP $!; sleep 0.1; echo x
# ----
sleep 5 & kill -9 $!; wait $!; echo $?; sleep 5 & kill $!; wait $!; echo $?; sleep 5 & kill -HUP $!; sleep 0.1; wait; echo $?
# ----
trap 'echo T' TERM; kill $$ $$; echo alive $?; kill -TERM $$ 999999 $$; echo $?; kill ''; echo $?; kill -l -1 | head -1
# ----
hash -p /bin/ls foo; hash; hash -t foo; foo -d /; hash; hash -l; hash -d foo; hash; hash -t foo; echo $?
# ----
shopt -s execfail; exec nosuch; echo here $?; exec /; echo $?; exec -x; echo $?; exec ./nosuch; echo $?
# ----
f() { cat <<'Q' <<-T | tr a b
q
Q
	t
T
cat <<E
a $x
E
exec 3<&- 4>&-; echo <(a) >(b); }; declare -f f
# ----
sleep 5 & jobs %+ | wc -l; jobs %1 | wc -l; (jobs %% | wc -l; jobs -p %sl | wc -l); kill %1; wait; disown -a; echo $?; disown -ar; echo $?; sleep 3 & disown -a nope; echo $?; disown -h; jobs | wc -l; disown -r; jobs | wc -l; readonly ro; getopts ab ro -a; echo $?; printf '%qd %Qs|%hhd\n' 'a b' c 3
# ----
printf 'HISTFILE=h\necho zero\nhistory -c\necho one\nhistory -d 2\necho two\nexit\n' | HOME=$PWD bash --norc -i 2>/dev/null; cat h; printf 'HISTFILE=h\necho three\nhistory -d 1\necho four\n' | HOME=$PWD bash --norc -i 2>/dev/null; cat h
