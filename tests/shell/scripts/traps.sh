# Traps, signals, computed variables.
# ----
f() { trap 'echo ret $FUNCNAME $LINENO' RETURN; echo in; }
f
g() { :; }
g
trap -p RETURN
# ----
set -T; trap 'echo ret $FUNCNAME' RETURN
f() { echo in; }
f; echo 'echo src' > s; . ./s; trap - RETURN; f
# ----
trap 'echo dbg $LINENO "$BASH_COMMAND"' DEBUG
x=1
echo a; echo b
for i in 1 2; do :; done
f() { echo in; }
f
(echo sub)
y=$(echo cs)
if true; then :; fi
case x in x) :;; esac
(( 1 )); [[ a ]]
trap - DEBUG
echo end
# ----
set -T
trap 'echo dbg $LINENO' DEBUG
f() {
 echo in
}
f
(echo sub)
trap - DEBUG
# ----
trap 'echo err $LINENO $BASH_COMMAND $?' ERR
false
f() { false; true; }
f
(false)
false || true; ! true; if false; then :; fi
false | true
true | false
x=$(false)
set -E
f
(false; true)
# ----
trap 'echo exit; trap "echo again" EXIT' EXIT; (exit 3); echo $?; exit 5
# ----
trap 'echo int' INT; kill -INT $$; trap '' INT; kill -INT $$; (trap); trap - INT; echo end; trap 'echo t1; exit 9' TERM; kill $$; echo no
# ----
trap 'echo chld' CHLD; (exit 1) & wait; echo done
# ----
trap 'echo u1' USR1; (kill -USR1 $$); echo x; bash -c 'kill -USR1 $PPID'; echo y; f() { kill -USR1 $BASHPID; echo inf; }; f; x=$(kill -USR1 $$; echo sub); echo $x; trap 'false' USR1; kill -USR1 $$; echo $?
# ----
f() { trap 'echo f-exit' EXIT; echo in; }; f; echo after; (f; echo s); trap - EXIT; g() { return 1; }; trap g EXIT; exit 0
# ----
shopt -s extdebug; f() { echo "${BASH_ARGV[@]} | ${BASH_ARGC[@]}"; g x y z; }; g() { echo "${BASH_ARGV[@]} | ${BASH_ARGC[@]}"; }; f 1 2; g
# ----
shopt -s extdebug; f() {
echo; }; declare -F f; declare -F; shopt -u extdebug; declare -F f
# ----
shopt -s extdebug; trap '[[ $BASH_COMMAND != "echo skip" ]]' DEBUG; echo a; echo skip; echo b; trap - DEBUG; echo c
# ----
shopt -s extdebug; trap 'case $BASH_COMMAND in *ret*) (exit 2);; *) true;; esac' DEBUG; f() { echo in; echo ret; echo not; }; f; echo "after $?"; trap - DEBUG
# ----
set -T; trap 'echo "D:$BASH_COMMAND"' DEBUG; f() { echo x; (echo y); }; f; x=$(echo q); trap - DEBUG
# ----
set -T; trap 'echo "R:$FUNCNAME"' RETURN; f() { g; }; g() { :; }; f; set +T; f
# ----
shopt -s extdebug; trap 'echo "<$LINENO:$BASH_COMMAND>"' DEBUG; for i in 1 2; do :; done; if true; then :; fi; case a in a) :;; esac; f() { :; }; f; trap - DEBUG
# ----
shopt -s extdebug; f() { local i; for ((i=0; i<${#FUNCNAME[@]}; i++)); do echo "${FUNCNAME[i]} ${BASH_LINENO[i]} ${BASH_SOURCE[i]}"; caller $i; done; }; g() { f; }; g a
# ----
set -E; trap 'echo "E:$LINENO:$BASH_COMMAND"' ERR; f() { false; }; f; (false); x=$(false); echo $(f)
# ----
shopt -s extdebug; trap 'case $BASH_COMMAND in *ret*) (exit 2);; *) true;; esac' DEBUG; f() { echo in; echo ret; echo not; }; f; echo "after $?"; trap - DEBUG
# ----
shopt -s extdebug; n=0; trap '((n++ % 2 == 0))' DEBUG; echo a; echo b; x=1; y=2; [[ a == b ]]; echo $? $x $y; for i in 1 2 3; do echo $i; done; if false; then echo t; else echo e; fi; case a in a) echo case;; esac; ((1==2)); echo $?
# ----
trap 'echo E $?' EXIT; f() { return 4; }; f
# ----
trap 'echo E $?; exit 9' EXIT; exit 3
# ----
trap 'echo E $?' EXIT; set -e; false; echo no
# ----
trap 'echo E $? "$@"' EXIT; set -u; f() { echo $nope; }; f a b; echo no
# ----
trap 'false; exit' 0; true
# ----
trap 'false; exit' EXIT; (exit 3)
# ----
trap 'stty nosuch echo 2>/dev/null; exit' 0 2; for FILE in nofile; do < "$FILE" || continue; done
# ----
trap 'false; exit' 0; for FILE in nofile; do false || continue; done
# ----
trap 'false; exit' 0; for FILE in nofile; do false || continue; done; :
# ----
trap 'false; exit' TERM; true; kill $$
# ----
f() { trap 'false; exit' EXIT; return 5; }; f
# ----
trap 'false; exit' 0; set -e; false
# ----
trap 'false; return' RETURN; f() { return 3; }; f; echo $?
# ----
c() { false; return; }; trap 'c; echo $?' EXIT; (exit 3)
# ----
c() { false; exit; }; trap 'c; echo $?' EXIT; exit 3
# ----
c() { (exit 7); exit; }; trap 'c' TERM; (exit 3); kill $$; echo no
# ----
trap 'false; exit' INT; (exit 4); kill -INT $$; echo no
# ----
trap '(exit 9); exit' ERR; (exit 4); echo no
# ----
trap '(exit 9); exit' DEBUG; (exit 4); echo no
# ----
c() { (exit 7); return; }; trap 'c; echo $?' USR1; (exit 3); kill -USR1 $$; echo $?
# ----
trap 'x=$(exit); echo $?; (false; exit); echo $?' EXIT; exit 6
# ----
trap 'trap - EXIT; false; exit' EXIT; exit 6
# ----
trap 'false; eval exit' EXIT; exit 6
# ----
trap 'exit' EXIT; set -e; (exit 5)
# ----
c() { local s=$?; echo "c $s"; exit; }; trap c EXIT INT TERM; (exit 2); kill -TERM $$
# ----
(trap 'false; exit' EXIT; exit 4); echo $?; x=$(trap 'false; exit' EXIT; exit 4); echo $?
# ----
f() { trap 'echo ret $?' RETURN; false; return 4; }; f; echo $?; trap - RETURN; f() { trap 'echo ret $?' RETURN; (exit 6); return; }; f; echo $?; trap - RETURN; f() { trap 'echo ret $?' RETURN; (exit 7); }; f; echo $?; f | cat; echo ${PIPESTATUS[0]}
# ----
trap 'n=$((n+1))' CHLD; for i in 1 2; do /bin/true; (true); done; echo $n; x=$(true); y=$(/bin/true); echo $n; /bin/true | /bin/true; echo $n; nosuch 2>/dev/null; echo $n; shopt -s lastpipe; /bin/true | read x; echo $n; echo a; : | cat; echo $n; trap - CHLD; /bin/true; echo $n
# ----
trap 'echo child' CHLD; (true; echo in); { /bin/true; }; f() { /bin/true; }; f; x=$(f; echo y); echo "$x"; true & wait; echo end
# ----
trap '' PIPE; yes 2>/dev/null | head -1; echo ${PIPESTATUS[@]}; trap - PIPE; yes | head -1; echo ${PIPESTATUS[@]}
