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
