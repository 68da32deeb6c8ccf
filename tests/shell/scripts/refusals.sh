# What bash refuses, and at which moment: bad names, expressions and expansions.
# ----
HOME=/root; declare -A A=([k]=~ [l]=~/x [m]=a:~); for k in k l m; do echo "${A[$k]}"; done; A=([k]=~ [l]=~/x); echo "${A[k]}" "${A[l]}"; A[k]=~; A+=([l]=~); echo "${A[k]}" "${A[l]}"
# ----
HOME=/root; declare -A A=(k ~ l ~/x); echo "${A[k]}" "${A[l]}"; f() { local -A B=([k]=~); echo "${B[k]}"; }; f; a=([1]=~ ~ a:~ [3]=a:~); echo "${a[@]}"
# ----
declare -A A=($(echo a b) c); echo "${A[a b]}"; v="x y"; A=(k $v l "$v"); echo "${A[k]}" "${A[l]}" "${#A[@]}"
# ----
a=(x y z); declare -n r='a[1]'; echo ${#r[@]} ${#r[*]}; for i in "${r[@]}"; do echo "<$i>"; done; echo "$r" "${r}" "[${r[0]}]" "[${r[1]}]" "[${r[*]}]" "${!r[@]}" "${r[@]:-d}" "${r[0]-e}"
# ----
a=(xx yyy zz); declare -n r=a; echo ${#r} ${#r[@]} "${r[@]}" "${r[1]}" "${!r[@]}"
# ----
set -u; echo $((a[3])); echo after
# ----
set -u; a=(1); echo $((a[3])); a=(); echo $((a[3])); declare -a b; echo $((b[3])); echo after
# ----
set -u; ((a[3]++)); echo after
# ----
set -u; ((a[3]+=1)); echo after
# ----
set -u; ((a[3]=1)); echo "${a[@]}"; declare -A b; echo $((b[x])); echo after
# ----
x=1; echo "${x: }" "${x::}"; echo "${x:}"; echo after
# ----
set -- a b; echo ${@:}; echo after
# ----
a=(1 2); echo ${a[@]:}; echo after
# ----
x=1; echo "${x[0}"; echo after
# ----
echo "a ${x[0} b" "${y[1]}"; echo after
# ----
echo ${x[a b}; echo after
# ----
f() { echo "${x[0}"; echo in; }; echo defined; f; echo after
# ----
x=q; f$x(){ :;}; echo $?; 'f'(){ echo hi;}; echo $?; f\g(){ echo hi;}; echo $?; "a b"() ( : ); echo $?; function h$x { :; }; echo $?; function 'h' { :; }; echo $?; $(echo)() { :; }; echo $?; ${x}() { :; } && echo no || echo yes; declare -F
# ----
set -e; f$x() { :; }; echo no
# ----
trap 'echo ERR' ERR; f$x() { :; }; h() { :; }; readonly -f h; h() { :; }; echo $?
# ----
for re in '*' '+' '?' '{' 'a{' 'a{x' 'a{1' 'a{1,' 'a{,2}' 'a{1}{2}' '^*' '(*a)' '(+)' 'a|*b' '|*' '{1}' '(|a)' 'a||b' '()' 'a**' 'a+*' '$*' '(^*)' '(^{1})' 'a|{1}' 'a{2,1}' '\' 'a\' '[' '(' ')' '}' 'a}' '{a' 'a{-1}' '(?a)' 'a)' 'x{0}' '(a|)' 'a{ 1}' '\b*' '\<+' '^^*' '^a*' '^(a)*$' 'a$|b*' '(^a)+'; do [[ 'a{' =~ $re ]]; echo "$re $?"; done
# ----
for re in '^*' '$*' '(^*)' '^{1}' 'a|^*' '\b*' 'a\b*' 'a{1' '{1}' '*' 'a^*' '^^*' '^*b' '^b*'; do echo abc | sed -E "s/$re/X/"; echo "$re $?"; done
# ----
[[ a =~ a{ ]]; echo $?; [[ a =~ * ]]; echo $?; [[ a =~ 'a{' ]]; echo $?; [[ 'a{' =~ a\{ ]]; echo $?; re='[0-9]{3}-[0-9]{4}'; [[ 555-1234 =~ $re ]]; echo $?
# ----
echo before
[[ a
# ----
echo before
[[ a -eq
# ----
hash -r; ls / | cat >/dev/null; hash; cat </dev/null; ls / | cat >/dev/null; hash | grep -c cat; x=$(ls /); hash | grep -c ls; (ls / >/dev/null); hash | grep -c ls
# ----
ulimit -S -n 100 -c 0; ulimit -n; ulimit -c; ulimit -Sn90; ulimit -n; ulimit -x9; echo $?; ulimit -nc; echo $?; ulimit -n 80 -c; ulimit -n
# ----
x=5; echo $(( "1" + 2 )) $((\
1+2)) $(( x + \
1 )); echo $((\1)); echo after
# ----
echo $((1\+2)); echo after
# ----
echo $[\1]; echo after
# ----
x=12345; echo "${x:\1}"; echo after
# ----
x=5; ((x=\$x)); echo $?; (( \1 )); echo $?
# ----
mkdir gone; cd gone; rmdir ../gone; cd .; echo $?; [[ $PWD == */gone/. ]] && echo "$OLDPWD" | grep -c 'gone$'; cd ..; echo $?; cd ./gone; echo $?
# ----
help -s cd; help -s ulimit printf true; for builtin in $(compgen -b); do help -s "$builtin"; done; help -s 'expor*' 'alia?'; help -s unal; help -s nothing; echo $?; help cd | head -n 1; help 'nothing*'; echo $?
