# Reading with a time limit, stages of pipelines that sleep, and what runs in the background reads.
# ----
{ echo a; sleep 0.3; echo b; } | { read -t 0.1 x; echo $? $x; read -t 0.1 x; echo $? "<$x>"; read -t 1 x; echo $? "<$x>"; read -t 1 x; echo $? "<$x>"; }
# ----
{ printf 'abc'; sleep 0.3; echo def; } | { read -t 0.2 x; echo $? "<$x>"; read x; echo $? "<$x>"; }
# ----
read -t 0.1 x < <(sleep 0.4); echo $? $x
# ----
exec 3< <(echo one; sleep 0.3; echo two); read -t 0.1 -u 3 a; echo $? $a; read -t 0.1 -u 3 a; echo $? "<$a>"; read -t 1 -u 3 a; echo $? "<$a>"
# ----
coproc { sleep 0.3; echo hi; sleep 0.1; }; read -t 0.1 -u ${COPROC[0]} x; echo $? "<$x>"; read -t 1 -u ${COPROC[0]} x; echo $? "<$x>"; kill $COPROC_PID
# ----
coproc { cat; }; read -t 0.1 -u ${COPROC[0]} x; echo $? "<$x>"; echo q >&${COPROC[1]}; read -t 1 -u ${COPROC[0]} x; echo $? "<$x>"; kill $COPROC_PID
# ----
read -t 0.1 x <<< hello; echo $? $x; read -t 1 x < /dev/null; echo $?; read -t 0 x <<< hi; echo $? "<$x>"; read -t 0 x < /dev/null; echo $?
# ----
printf 'a\nb' > f; read -t 1 x < f; echo $? $x; { read -t 1 x; read -t 1 x; echo $? $x; } < f; read -t 0 < f; echo $?
# ----
read -t 1 x <&-; echo $?; read -t 0 x <&-; echo $?
# ----
sleep 0.3 | { read -t 0; echo $?; }
# ----
{ sleep 0.2; echo; } | { read -t 0; echo $?; sleep 0.4;  read -t 0; echo $?; }
# ----
echo hi | { sleep 0.1; read -t 0; echo $?; }; : | { sleep 0.1; read -t 0; echo $?; }
# ----
x=old; sleep 0.3 | { x=old; read -t 0.1 x; echo $? "<$x>"; }; read -t -1 x; echo $?; read -t abc x; echo $?; read -t 1e x <<< a; echo $?
# ----
{ printf 'ab'; sleep 0.3; printf cd; } | { read -t 0.1 -n 3 x; echo $? "<$x>"; read -N 2 x;  echo $? "<$x>"; }
# ----
{ printf 'a b'; sleep 0.3; } | { read -t 0.1 x y; echo $? "<$x><$y>"; }; { printf 'a b'; sleep 0.3; } | { read -t 0.1 -a x; echo $? "${x[@]}"; }
# ----
mkfifo p; { sleep 0.3; echo z > p; } & read -t 1 x < p; echo $? $x; exec 4<>p; read -t 0.1 -u 4 x; echo $? "<$x>"
# ----
while read -t 0.2 l; do echo "$l"; done < <(echo a; sleep 0.1; echo b; sleep 0.3; echo c); echo $?
# ----
sleep 0.3 | { trap 'echo A' ALRM; read -t 0.1; echo $? "$REPLY"; }
# ----
(sleep 0.2; echo x; sleep 0.2; echo y) | while :; do read -t 0.3 l; r=$?; echo $r $l; [ $r = 1 ] && break; done
# ----
{ sleep 0.3; echo q; } | { read -t 0.1 x || echo "timeout $?"; cat; }
# ----
{ while sleep 0.1; do echo tick; done; } | { read -t 0.05 x; echo $?; read -t 1 x; echo $? $x; }
# ----
cat & wait; echo $?
# ----
while read l; do echo "$l"; done & wait; echo $?
# ----
echo hi | { cat & wait; }
# ----
echo hi | { while read l; do echo "got $l"; done & wait; }
# ----
echo hi | { cat <&0 & wait; }
# ----
exec 3<<< data; cat <&3 & wait
# ----
f() { read x; echo "<$x> $?"; }; f & wait; f < <(echo q) & wait
# ----
{ sleep 0.1; echo late; } | { sleep 0.05; echo a; date +x; } | cat
# ----
{ sleep 0.3; echo up >&2; } | { sleep 0.1; echo down; } | { cat; echo end; }
# ----
(cat; echo $?) & wait
# ----
coproc { echo first; sleep 0.1; echo second; }; read -u ${COPROC[0]} a; echo $a; read -u ${COPROC[0]} a; echo $a; wait
# ----
coproc sleep 0.2; wait $!; echo $?
# ----
coproc S { while read l; do echo "re: $l"; done; }; for i in 1 2 3; do echo $i >&${S[1]}; read -u ${S[0]} r; echo "$r"; done; exec {S[1]}>&-; wait; echo $?
# ----
coproc S { date +now; echo ready; cat; }; read -u ${S[0]} r; echo $r;  read -u ${S[0]} r; echo $r; echo z >&${S[1]};  read -u ${S[0]} r; echo $r
# ----
sleep 0.2 | { sleep 0.1; echo x; } & wait; echo $?
# ----
(sleep 0.1; echo a) & (echo b) & wait; echo c
# ----
for i in 3 1 2; do (sleep 0.$i; echo $i) & done; wait
# ----
for i in 3 1 2; do { sleep 0.$i; echo $i; } | cat & done; wait
# ----
for i in 3 1 2; do { sleep 0.$i; exit $i; } & done; for i in 1 2 3; do wait -n; echo $?; done
# ----
sleep 5 & p=$!; kill $p; wait $p; echo $?
# ----
{ sleep 0.1; echo a; } | sed s/a/b/ & { sleep 0.05; echo c; } | tr c d & wait
# ----
{ sleep 0.2; echo "after" >&2; } | true; echo ${PIPESTATUS[@]}
# ----
{ sleep 0.1; echo "after"; } | true; echo ${PIPESTATUS[@]}
# ----
{ trap 'echo T >&2' EXIT; sleep 0.1; echo "after"; } | true; echo ${PIPESTATUS[@]}
# ----
timeout 0.2 sleep 5 | cat; echo ${PIPESTATUS[@]}
# ----
x=$(sleep 0.2; echo in) | cat; echo $(sleep 0.1 | { sleep 0.1; echo q; })
# ----
yes | head -2; (yes; echo $? >&2) | head -1; while :; do echo y; done | head -1; echo ${PIPESTATUS[@]}
# ----
(for i in 1 2 3; do echo $i; sleep 0.1; done) | while read x; do echo "got $x"; done
# ----
cat /dev/null; { sleep 0.3; echo q; } | cat | { read -t 0.1 x || echo "timeout $?"; cat; }
# ----
f=x; echo file > $f; { cat & wait; } < $f; ( cat & wait; ) < $f; f() { cat & wait; }; echo hi | f;  ( ( cat & wait ) ) < $f
# ----
echo file > x;  ( exec < x; cat & wait; );  exec < x; cat & wait; echo hi | ( ( cat & wait ) ); echo hi | (cat & wait)
# ----
echo file > x; echo hi | { x=$(cat & wait); echo $x; }; echo hi | (cat) & wait; exec 3< x; cat <&3 & wait; ( echo; ( cat & wait ) ) < x
# ----
echo | (echo $BASH_SUBSHELL); echo | { echo $BASH_SUBSHELL; }; (echo $BASH_SUBSHELL; (echo $BASH_SUBSHELL)) | cat; (trap 'echo bye' EXIT; exit 3) | cat; echo ${PIPESTATUS[@]}; echo | (exit 4); echo $?
# ----
coproc awk '{print "got " $0; fflush()}'; echo 1 >&${COPROC[1]}; read -u ${COPROC[0]} x; echo $x; exec {COPROC[1]}>&-; wait; echo $?
# ----
echo data | { date +%%; awk 'BEGIN{print 1+1}'; grep -c . <<< x; cat; }
# ----
{ sleep 0.1; echo 1; sleep 0.1; echo 2; } | awk 'BEGIN{print "start"} {print "l" $0}' | cat
# ----
{ sleep 0.1; echo 1; sleep 0.1; echo 2; } | sort -r | tee out | cat; cat out
# ----
{ sleep 0.2; echo 1; } | xargs -n1 echo got | cat
# ----
{ sleep 0.1; echo 'echo hi; sleep 0.1; echo ho'; } | bash | cat
# ----
bash -c 'sleep 0.1; read x; echo "<$x>"' <<< w | cat; { sleep 0.1; echo w; } | bash -c 'read x; echo "<$x>"; read -t 0.1 y; echo $?' | cat
# ----
(sleep 0.1; echo a) > >(cat; echo end); sleep 0.3
# ----
paste <(sleep 0.1; echo a) <(echo b)
# ----
set -o pipefail; sleep 0.1 | false | sleep 0.1; echo $?; { sleep 0.1; exit 3; } | sleep 0.2; echo $?
# ----
shopt -s lastpipe; { sleep 0.1; echo v; } | read x; echo $x; sleep 0.3 | read -t 0.1 y; echo $?
# ----
x=$( { sleep 0.1; echo a; } | { sleep 0.1; cat; } | cat); echo $x
# ----
(sleep 0.2; echo bg) & { sleep 0.4; echo p; } | cat; wait
# ----
trap 'echo T' TERM; (sleep 0.1; kill $$) & { sleep 0.3; echo p; } | cat; wait
# ----
trap 'echo T' TERM; (sleep 0.1; kill $$) & wait; echo W $?; wait; echo $?
# ----
trap '' TERM; (sleep 0.1; kill -TERM $$; exit 4) & wait $!; echo $?
# ----
trap 'echo T' TERM; sleep 1 & (sleep 0.1; kill $$) & wait -n; echo W $?; wait -n; echo $?
# ----
trap 'echo C' CHLD; sleep 0.1 & sleep 0.2 & wait; echo $?
# ----
(sleep 0.1; echo x > f) & sleep 0.3; cat f; rm f
# ----
sleep 0.1 & timeout 0.3 sleep 5; echo $?; wait $!; echo $?
# ----
sleep 1 &
f() { jobs; }
echo a; x=$(jobs; true); echo "[$x]"; echo b; x=$(true; jobs); echo "[$x]"; echo c;  x=$(jobs | cat); echo "[$x]"; echo d; x=$( (jobs) ); echo "[$x]"; echo e; x=$(f); echo "[$x]"; echo f; f | cat; echo g; if true; then jobs; fi | cat; echo h; jobs & wait $!; echo i; jobs | while read l; do echo $l; done; echo j; true | jobs; echo k; ( jobs; jobs | cat ); echo l; command jobs | cat; echo m; builtin jobs | cat; echo n; eval jobs | cat; echo o; x=$({ jobs; }); echo "[$x]"; echo p; cat <(jobs); echo q; kill $(jobs -p); wait %1; echo $?
# ----
printf '1\n2\n3\n' > f; tail -f f & sleep 0.3; echo 4 >> f; sleep 0.5; kill $!; wait $! 2>/dev/null; echo $?
# ----
echo a > f; timeout 0.5 tail -f f; echo $?; timeout 0.3 tail -n0 -f f | cat; echo ${PIPESTATUS[@]}
# ----
touch g; (sleep 0.2; echo new >> g; sleep 0.3) & tail -f g --pid=$!; echo $?
# ----
echo a > f; echo b > g; { sleep 0.3; echo x >> g; sleep 0.2; echo y >> f; sleep 0.2; echo z >> f; sleep 0.3; } & tail -f f g --pid=$!
# ----
touch log; { for i in 1 2 3; do echo line $i; sleep 0.1; done >> log; } & tail -n +1 -f log | while read -r l; do echo "got $l"; [ "$l" = "line 3" ] && break; done; echo done
# ----
touch log; { sleep 0.2; echo ready >> log; } & timeout 3 grep -m1 ready <(tail -f log); echo $?
# ----
echo long text > f; { sleep 0.3; echo s > f; sleep 0.4; } & tail -f f --pid=$! 2>/dev/null
