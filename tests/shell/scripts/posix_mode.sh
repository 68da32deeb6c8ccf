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
