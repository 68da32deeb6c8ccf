# References to variables.
# ----
f() { local -n r=$1; r[k]=v; for k in "${!r[@]}"; do echo "$k=${r[$k]}"; done; }; declare -A m; f m; declare -p m
# ----
declare -n r=x; x=5; echo $r ${!r}; r=6; echo $x; unset r; echo ${x-un} ; r=7; echo $x; unset -n r; echo ${r-un} $x; declare -p r
# ----
declare -n r; r=y; y=3; echo $r; declare -p r y; declare +n r; declare -p r; echo $r
# ----
a=(1 2 3); declare -n e='a[1]'; echo $e; e=9; declare -p a; unset e; declare -p a; 
# ----
for v in a b; do declare -n r=$v; r=val_$v; done; echo $a $b; declare -n it; for it in a b; do echo $it ${!it}; done
# ----
declare -n a=b b=a; echo $a; a=1; echo $?; declare -n s=s; echo $?; f() { declare -n s=s; s=1; }; f; declare -p s
# ----
declare -n r=arr; r=(1 2); declare -p arr; r+=(3); declare -p arr; unset 'r[0]'; declare -p arr; echo ${r[@]:1} ${#r[@]} ${!r[@]}; declare -A r; declare -p r
# ----
declare -n r=/; declare -n q=1x; r=/; declare -n r; echo $?; declare -n 'z=a[b c]'; declare -p z; declare -n ar; ar=(1); declare -p ar
# ----
readonly x=1; declare -n r=x; r=2; echo same
declare -rn ro=y; ro=5; echo $y; ro=6; echo $y; unset -n ro; declare -n ro=z; declare -p ro
# ----
f() { local -n out=$1; local tmp=5; out=$((tmp*2)); }; f result; echo $result; g() { local x=1; h x; echo $x; }; h() { local -n ref=$1; ref=2; local x=3; ref=4; echo $x; }; g
# ----
declare -n r='a b'; echo $?; declare -n r2=1x; echo $?; r=x; declare -n e=; echo $?; declare -n q=q; echo $?; declare -n ok='a[1]'; ok=5; echo ${a[1]}
# ----
declare -n r; r='1bad'; echo $?; declare -p r; r=good; r=v; echo $good; unset -n r; declare -n r="x y"
# ----
f1() { typeset -n v=$1; v=inside; }; v=global; f1 v; echo $v
# ----
foo() { typeset x=one; typeset -n y=$1; y=two; echo inside: $x; }; foo x; echo outside: $x; foo2() { typeset -n x=$1; x=foo; }; foo2 x; echo $x
# ----
typeset -n v=v; echo $?; declare -n a=b b=a; a=1; echo $? $a; declare -n r; r=x; r=5; echo $x; declare -p r; unset r; echo ${x-unset}; unset -n r; declare -p r
# ----
declare -n r=arr; arr=(1 2 3); r+=(4); echo ${r[@]} ${#r[@]} ${!r} ${r[1]}; r[5]=q; declare -p arr; unset 'r[0]'; declare -p arr; for i in "${!r[@]}"; do echo $i; done; r=(z); declare -p arr; declare -n e='arr[0]'; e=el; echo $e ${arr[0]} ${!e}; unset e; declare -p arr
# ----
declare -n r=x; declare +n r; echo ${r}; declare -p r; declare -n s; s=t; declare -r s; t=3; s=4; echo $t $?; declare -p s t
# ----
f() { local -n out=$1; local -a tmp=(a b); out=("${tmp[@]}"); }; f res; declare -p res; g() { local x=loc; h x; echo $x; }; h() { local -n ref=$1; ref=changed; }; g; k() { local -n m=$1; for i in "${!m[@]}"; do m[$i]+=!; done; }; declare -A mm=([a]=1); k mm; declare -p mm; [[ -R out ]]; echo $?; declare -n q=mm; [[ -R q ]] && [[ -v q[a] ]]; echo $?
# ----
declare -n p=1; echo $?; declare -n p='@'; echo $?; f() { local -n p; p=$1; echo "${p-none}"; }; f 1; f x; unset -n p; for p in a b; do :; done; declare -n lo; for lo in aa bb; do lo=1; done; echo $aa $bb ${!lo}
# ----
e=; echo "<${!e}>"; echo $?
# ----
e=; echo ${!e:-d}; echo no
# ----
e=; echo ${!e-d}; echo no
# ----
e=; echo "${!e+s}|"; echo no
# ----
e=; echo ${!e#x}; echo no
# ----
e=; echo ${!e:1}; echo no
# ----
set -- ''; echo ${!1}; echo $?
# ----
set --; echo ${!1}; echo $?; echo ${!1-d}
# ----
set -- ''; echo ${!1-d}; echo x
# ----
a=(''); echo ${!a}; echo x; echo ${!a[0]}; echo y; echo ${!a-d}; echo z
# ----
unset e; echo ${!e-d}; echo x
# ----
unset e; echo ${!e+d}; echo x
# ----
set -- "" a; echo "${!@}"; echo $?
# ----
set -- "a" ; a=1; echo "${!@}" "${!*}"; echo $?; set --; echo "${!@}|${!@-d}"
