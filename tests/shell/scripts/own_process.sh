# What belongs to a process of its own: redirections of programs, statuses of stages, `|&`.
# ----
cat <<E
${x:=hello} $((y = 3)) ${z:-dflt}
E
echo "[$x][$y]"
read line <<E
${x:=kept}
E
echo "[$x][$line]"
: <<E
${a:=1}
E
{ :; } <<E
${b:=2}
E
f() { :; }; f <<E
${c:=3} $((t++))
E
echo "[$a][$b][$c][$t]"
# ----
cat < <(echo in) > ${out:=file}; echo "[$out]"; ls
cat {fd}< file; echo "[$fd]"
x=1 cat <<E
${q:=$x}
E
echo "[$q]"
cat <<E | tr a-z A-Z
${p:=through a pipe}
E
echo "[$p]"
cat <<E
${nosuch?message}
E
echo $?
ls <<E > ${r:=nosuch/file}
E
echo "$? [$r]"
# ----
bash -c ': ${1?no} | cat; echo $? ${PIPESTATUS[@]}'
bash -c 'echo a | : ${1?no}; echo $? ${PIPESTATUS[@]}'
bash -c '{ : ${1?no}; } | cat; echo ${PIPESTATUS[@]}'
bash -c '(: ${1?no}) | cat; echo ${PIPESTATUS[@]}'
bash -c 'f() { : ${1?no}; }; f | cat; echo ${PIPESTATUS[@]}'
bash -c ': ${1?no} & wait $!; echo $?; { : ${1?no}; } & wait $!; echo $?'
bash -c 'set -u; echo $nosuch | cat; echo ${PIPESTATUS[@]}; x=$(echo $nosuch); echo $?'
printf ': ${1?no} | cat; echo ${PIPESTATUS[@]}\n' > script; bash script
# ----
both() { echo out; echo error >&2; }
both |& wc -l
both 2>/dev/null |& wc -l
both >/dev/null |& wc -l
{ both; } 2>/dev/null |& wc -l
(both) |& sort
show() { both |& cat; both 2>/dev/null |& cat; }; declare -f show
# ----
x=$(echo side >&2) 2> file; cat file
x=1 > nosuch/file; echo "$? $x"
a=(1) > nosuch/file; echo "$? ${a[0]}"
x=$((y = 4)) < nosuch; echo "$? $x $y"
readonly r=1; r=2 > made; ls made; echo after
# ----
! true; echo ${PIPESTATUS[@]}; ! false; echo ${PIPESTATUS[@]}; ! (exit 3); echo ${PIPESTATUS[@]}
f() { return 4; }; ! f; echo ${PIPESTATUS[@]}; ! false | true; echo ${PIPESTATUS[@]}
! [[ a ]]; echo ${PIPESTATUS[@]}; ! { false; }; echo ${PIPESTATUS[@]}; ! ((0)); echo ${PIPESTATUS[@]}
# ----
echo $((1)+2); echo after
x=$((echo a); (echo b)); echo "$x"
# ----
type cd nosuch if 2>&1; command -V cd nosuch if 2>&1; shopt extglob nosuch dotglob 2>&1
printf '%d\n' 1 x 2 2>&1; printf '%d ' 1 x 2 2>&1; printf '\n%d %d\n' 1 2 y 3 2>&1
# ----
time (echo a) 2> f; grep -c real f; time { echo b; } 2> g; wc -c < g
! time (false) 2> h; echo $?; grep -c user h; time -p (:) 2> k; head -1 k | cut -c1-5
f() { time (echo q) 2> m; }; f; wc -l < m; declare -f f
# ----
# The last command of `bash -c` and of `( )` takes the shell's place: who waits for that tells how it died.
for text in 'bash -c K' 'bash -c K;' 'bash -c "true; $K"' 'true && K' 'true; true && K' 'true && true; K' 'K # end' 'K
' 'K

' 'true
K' 'true & K' 'if true; then K; fi' 'f() { K; }; f' 'exec K' '! true || K' 'trap : USR1; K' 'trap "" USR1; K' 'trap : ERR; K' \
    'trap : DEBUG; K' 'trap : EXIT; trap - EXIT; K' 'X=1 Y=$(echo a) K' 'K 2>/dev/null' 'set -e; K' '! K' '{ K; }' \
    '(K); echo $?' '(true; K); echo $?' '(true; K; true); echo $?' '(K >/dev/null); echo $?' 'true; (exec K); echo $?' 'eval K'; do
  text=${text//K/'bash -c "kill -9 \$\$; :"'}
  echo "$text"; (bash -c "$text"; echo $?) 2>&1 | sed 's/ *[0-9]* Killed/ N Killed/'
done
bash -c 'bash -c "kill -9 \$\$; :"' & wait $!; echo $?
x=$(true; bash -c 'kill -9 $$; :'); echo "$? $x"
printf '%s\n' 'bash -c "true; bash -c \"echo \\\$PPID; :\""; echo $$' > script
bash script | { read a; read b; [ $a = $b ]; echo $?; }
