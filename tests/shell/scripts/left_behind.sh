# What is left in the background writes on into the substitution or the pipe that it was started in.
# ----
x=$( (sleep 0.1; echo late) & echo now); echo "$x"
echo $(echo $( (sleep 0.05; echo in) & ) x)
echo `(sleep 0.05; echo b) & echo a`
# ----
SECONDS=0
x=$(sleep 30 >/dev/null & echo now); echo "$x"
x=$({ sleep 30; } >/dev/null 2>&1 & echo group); echo "$x"
x=$( (sleep 30) >/dev/null & echo subshell); echo "$x"
f() { sleep 30; }; x=$(f >/dev/null & echo function); echo "$x"
echo $((SECONDS < 20))
# ----
{ (sleep 0.1; echo late) & echo now; } | cat
{ (sleep 0.1; echo late) & } | { read x; echo "<$x>"; }
cat <( (sleep 0.1; echo late) & echo now)
# ----
x=$(for i in 3 1 2; do (sleep 0.$i; echo $i) & done); echo $x
x=$(sleep 30 & kill $!; echo killed); echo $x
x=$(trap 'echo bye' EXIT; (sleep 0.1; echo late) & echo now); echo $x
# ----
trap 'echo got' USR1
bash -c 'kill -USR1 $PPID'; echo a
bash -c 'kill -USR1 $PPID' | cat; echo b
# ----
bash -c 'echo $PPID' | grep -cx $$
bash -c 'echo $$ > mine' & echo $! > shown; wait; cmp mine shown && echo same
