# Here-documents, and what the commands that read them say.
# ----
set -- p q; a=(x y); IFS=,; cat <<F
$* ${*} ${a[*]} ${*:1} ${a[*]:0} $@ ${a[@]} "$*" "${a[*]}" ${*:-d} ${u-$*} ${u-"$*"} $(echo "$*") $#
F
cat <<< $* ; cat <<< "$*"; x=$*; echo "$x"; IFS=; cat <<F
$* ${a[*]} ${*:1} "$*"
F
read v <<F
$*
F
echo "$v"; f() { cat; }; IFS=-; f <<F
$*
F
# ----
echo x | grep -vc ""; echo $?; echo x | grep -m0 -c x; echo $?; echo x | grep -m0 x; echo $?; echo x | grep -vL "" -; echo $?; echo x | grep -vxc ''; echo x | grep -m0 -L x -; date -d nope; echo $?
