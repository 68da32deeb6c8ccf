# Shells whose standard streams are closed.
# ----
{ exec 1>&-; echo x; for i in 1 2; do echo $i; done; while read l; do echo $l; done <<< a; } | cat; echo ${PIPESTATUS[@]}
# ----
exec 0<&-; select x in a; do break; done; read y; echo $?; while read l; do :; done; echo $?; bash; echo $?; bash -s <<< 'echo s'
# ----
(exec >&-; echo q) & wait $!; echo $?; coproc { exec 1>&-; echo a; }; wait; f() { for ((i=0;i<500;i++)); do echo $i; done; }; f >&- 2>/dev/null; echo $?
