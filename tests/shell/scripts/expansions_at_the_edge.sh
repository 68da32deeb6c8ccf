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
