# What POSIX mode changes.
# ----
# An assignment to a read-only variable ends the shell, and one before a command is that command's failure.
for text in 'q=2' 'q[0]=1' 'x=1 q=2' 'eval q=1' 'for q in a; do :; done' 'echo ${q:=1}a' 'q=2 export z=1' '((q=2))' 'let q=2' \
    'read q <<< a' 'export q=2' 'readonly q=2' 'declare q=2' 'q=2 f' 'q=2 ls /nope' 'q=2 echo hi' '(q=1; echo no); echo $?' \
    'f2() { q=1; echo no; }; f2' 'trap "q=1; echo no" EXIT' 'for ((q=1;;)); do break; done' 'case $((q=1)) in *) ;; esac'; do
  echo "$text"; bash -c 'set -o posix; f() { echo F; }
readonly q=1; unset q 2>/dev/null
eval "$1"
echo "y $?"' bash "$text"; echo $?
  bash -c "set -o posix; f() { echo F; }
readonly q=1
$text
echo y \$?"; echo $?
done
# ----
# What cannot be expanded ends the shell, wherever it stands; what only reads an expression goes on.
for text in 'echo $((1/0))' 'x=$((1/0))' 'echo ${x!}' 'v=${x!}' 'echo "$((1+))"' 'echo x > $((1/0))' 'echo x > ${x!}' \
    'for i in $((1/0)); do :; done' 'case $((1/0)) in *) ;; esac' 'case a in ${x!}) ;; esac' 'select i in $((1/0)); do :; done' \
    'f() { echo $((1/0)); }; f' 'eval "echo \$((1/0))"' 'command eval "echo \${x!}"' '. ./sourced' ': ${n:=$((1/0))}' \
    'x=$((1/0)) true' 'a=($((1/0)))' 'a[$((1/0))]=1' 'a[1/0]=1' 'x=abc; echo ${x:1/0}' 'x=abc; echo ${x:$((1/0))}' \
    'x=abc; echo ${x:0:-9}' 'echo $((a b))' 'echo $((08))' 'x=1; echo ${x/$((1/0))/}' '(( 1/0 ))' '(( $((1/0)) ))' 'let 1/0' \
    '[[ 1/0 -eq 1 ]]' '[[ ${x!} ]]' 'for ((i=$((1/0));;)); do :; done' 'declare x=$((1/0))' 'a[]=1' 'a=(1); a[-5]=1' \
    'cat <<< ${x!}' '(echo $((1/0)); echo no)' 'v=$(echo ${x!}; echo no)' 'true | echo $((1/0))' 'echo $((1/0)) & wait $!' \
    'trap "echo T\$?" EXIT; echo ${x!}' 'trap "echo \$((1/0)); echo no" USR1; kill -USR1 $$' 'set -e; echo $((1/0))' \
    'set -e; echo ${x!}' 'if echo $((1/0)); then :; fi' 'echo $((1/0)) ||:' 'for i in 3 2 1 0; do x=$((6/i)); done'; do
  echo "$text"; echo 'echo $((1/0)); echo no' > sourced
  bash --posix -c "$text
echo y \$?"; echo $?
  printf '%s\necho y $?\n' "$text" > script; bash --posix script; echo $?; bash --posix < script; echo $?
done
