# Expansions where brace expansion, empty texts, quotes and tildes meet.
# ----
x=abc n=7; echo $x{1..3} $n{a,b}c ${x}{1,2} "$x"{1,2} $x{-,/}y; ab=1 a=z; echo $a{b,c} $1{a,b}
# ----
shopt -s extglob; e=; for p in '*' '!(a)' '?(a)' '*(a)' '' '+(a)'; do echo "$p: [${e/$p/X}] [${e//$p/X}] [${e/#$p/X}] [${e/%$p/X}]"; done
# ----
set -- 1 2 3; echo "${@:9: -2}|" "${@:4}|" "${@:4:-1}"; a=(1 2 3); echo "${a[@]:9:-1}|"; echo "${@:1:-1}"; echo no
# ----
x=v; echo "${x:+"a\b"} ${x:+"\$x"} ${u:-"\a$x"}" "${x:+\a}"
# ----
a=(1 "2 3"); printf "<%s>" "${a[@]@A}" "${a[*]@A}" ${a@A}; x=5; printf "<%s>" "${x@A}" "${@@A}"; set -- a b; printf "<%s>" "${@@A}" "${*@A}" "${u[@]@A}"
# ----
HOME=/h; echo ~: ~:x a=~:~ ~/x:~; y=~:~/x; echo $y
# ----
echo "${#^a}"; echo no
# ----
for r in '\a' '\\' '\\\\' 'a\b' '\&' '\' 'a&b'; do x=Z; echo "$r: ${x/Z/$r} ${x/#/$r} ${x//Z/"$r"} ${x//Z/$r$r}"; done
# ----
IFS=" a"; set -- x axb "" c; printf '<%s>' $* $@; v=(é" a"x); printf '<%s>' ${v[*]} ${v[@]}
# ----
printf 'a\\:b:c' | { IFS=: read -d : x y; echo "$x|$y"; }; printf 'a\\\nb:c' | { read -d : x; echo "$x"; }; printf 'a\\' | { read x; echo "$x"; }
# ----
n=3; for e in '2**-3' '2**(-3)' '2** -n' '2**(1-4)+1' '2**-3+1' 'a[[n]' 'n + a[1'; do (echo $(($e))); done
# ----
# Operators whose words give no field, and indirection through what is not set.
set --; n() { echo $#; }
n "${none[@]-}"; n "${none[@]+$@}"; n "${@-$@}"; n "${@+$@}"; n "${nn-$@$@}"; n "${nn-"$@"}"; n "${nn-${none[@]}}"; n "x${nn-$@}"
n "$@${nn-$@}"; x=1; n "${x+$@}"; n "${x:+"$@"}"; n ${x+"$@"}; n ${nn-"$@"}; n "${nn-""$@}"; n "${none[@]:-$@}"; n "${1-"$@"}"
a=(); n "${a[@]-$@}"; n "${a[@]+"${a[@]}"}"; n "${@+"$@"}"; n ${@+"$@"}; n "${*-$@}"; n "${nn- $@}"
echo "<${!9}><${!@}><${!*}>"; x=a${!9}; echo "$x"; a[2]=${!*}; echo "${#a[@]}"
declare -A q=([k]=v); a=(1 2); echo "<${!q[no]}>" "<${!a[9]}>" "<${!a[0]}>"
echo "<${!nn[3]}>"
echo "<${!nn}>"
# ----
# An associative array has no element without a key.
declare -A m=([k]=v); e=; echo "${m[$e]}" ${m[$e]-none}; m=(["$e"]=3 [l]=4); echo $? ${#m[@]}; m[$e]=1
echo "${#m[@]}"
# ----
cat <<E
${nn-$'\t'} ${nn-'a'} ${x/y/$'\t'} ${nn:+$'\t'} ${nn:=$'\t'} $(echo "${n2-$'q'}")
E
echo "${n3-$'\t'} ${n3-'a'}"
# ----
# How a list is joined where there is only one field.
set -- a '' "b c"; a=("$@"); declare -n r=a; IFS=:
x=${@^^}; echo "$x"; x=${@/x/y}; echo "$x"; x=${@#x}; echo "$x"; x=${@@U}; echo "$x"; x=${@:1}; echo "$x"; x=${@@Q}; echo "$x"
x=${a[@]^^}; echo "$x"; x=${a[@]/x/y}; echo "$x"; x=${a[@]%x}; echo "$x"; x=${a[@]@U}; echo "$x"; x=${a[@]//b}; echo "$x"
x=${r[@],,}; echo "$x"; x=${r[@]#x}; echo "$x"; x=${a[*]^}; echo "$x"; cat <<< ${a[@]^^}; cat <<< ${@/b/c}
case ${a[@]^^} in *:*) echo c;; *) echo b;; esac
# ----
# A length does not matter where the offset is outside.
declare -A m=([k]=v [l]=v); a=(1 2); x=abc; set -- p q
echo "${m[@]:9:-1}" "${a[@]:9:-1}" "${@:9:-1}" "${x:9:-1}" "${a[@]:9:1/0}" "${x:9:-5}" "${m[@]:1:0}" "${m[@]:0:0}"
echo "${a[@]:0:-1}"
echo "${x:2:-5}"
