# Process substitutions that are not read to their end, and jobs with a `!`.
# ----
: <(echo side > f); sleep 0.1; cat f; : <(exit 3); wait $!; echo $?; head -1 <(seq 100000); wait $!; echo $?
# ----
: <(seq 100000; echo done > g); sleep 0.1; cat g; : < <(trap 'echo x > h' EXIT; echo hi); sleep 0.1; cat h
# ----
! true & wait $!; echo $?; ! false & wait $!; echo $?; ! (exit 3) & wait $!; echo $?; ! true && true & wait $!; echo $?
