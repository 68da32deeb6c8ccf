# Values in here-documents, and patterns that come from expansions.
# ----
a=(1 2 3)
for IFS in : '' ' ' ' :' x; do
set -- a b c
cat <<E
$* ${*#a} ${*/b/x} ${*^} ${*:2} ${*@Q} ${*%c} ${*-d} ${*//b} ${a[*]} ${a[*]#1} ${a[*]/2/x} ${a[*]:1} ${a[*]@Q}
${a[*]^} ${!a[*]} ${!BASH_VERS*}
E
cat <<E
$@ ${@#a} ${@:2} ${@@Q} ${a[@]} ${a[@]#1} ${a[@]/2/x} ${a[@]:1} ${a[@]@Q} ${a[@]^} ${!a[@]}  ${!BASH_VERS@}
E
done
# ----
s=aXbXa
p='#a'; echo "${s/$p/Q}" "${s//$p/Q}" "${s/"$p"/Q}"
p='%a'; echo "${s/$p/Q}" "${s//$p/Q}"; p='/a'; echo "${s/$p/Q}"
p='#'; echo "${s/$p/Q}"; p='%'; echo "${s/$p/Q}" "${s/#$p/Q}"
echo ${s/`echo '#a'`/Q} ${s/$(echo '%a')/Q}
s='#x'; p='#'; echo "${s//$p/Q}" "${s/"$p"/Q}" ${s/\#/Q}
# ----
p='\'; x='a\'
echo "${x%$p}" "${x%%$p}" "${x#a$p}" "${x/$p/z}" "${x//$p/z}" "${x/%$p/z}" "${x/a$p/z}" "${x/"$p"/z}"
y='\a'; echo "${y/$p/z}" "${y#$p}" "${y/#$p/z}" "${y/${p}a/z}"
[[ $x == a$p ]] && echo matches
# ----
touch 'a*' ab 'a\b'
for x in 'a\*' 'a\b' 'a\?' '\a*' 'a\*b*' 'a\\*' '*\*'; do echo $x; done
mkdir d; touch d/q; for x in 'd/\q' 'd\/*' '\d/*'; do echo $x; done
shopt -s nullglob; x='a\*'; echo $x .; x='n\*'; echo $x .
# ----
mkdir d; touch d/x.o d/q x.o ab
GLOBIGNORE='*.o'; echo *; echo d/*; echo ./*
GLOBIGNORE='d/*.o'; echo d/*; GLOBIGNORE='*'; echo d/*; echo *; GLOBIGNORE='*/*'; echo d/*; echo d/*/
GLOBIGNORE='d/[qx]*'; echo d/*; GLOBIGNORE='./*.o'; echo ./*
# ----
n() { echo $#; }; a=()
n "${a[@]+x}"; n "${a[@]+"${a[@]}"}"; n "${a[@]:+x}"; n "${@+x}"; n "$@" "${@:+x}"; n "q${a[@]+x}"
n "${*+x}"; n "${a[*]+x}"; n "${a[@]-x}"; n "${nosuch+x}"; b=(1); n "${b[@]+x}"; n "${b[@]+}"
# ----
a=(abc de); declare -n r='a[1]'; echo "$r" "${#r}" "${r:1}" "${r@A}" "${r@Q}"
declare -n all='a[@]'; echo "${#all}"; e=1; declare -n s=e; echo ${s@A} ${#s}; declare -n t=a; echo ${t@A} ${t[@]@A}
# ----
HOME=/h
declare -A m=([~]=~ [~/x]=1 [a:~]=2); m[~]=z; m[~/q]=w; m+=([~/p]=~/p)
for k in "${!m[@]}"; do echo "<$k> ${m[$k]}"; done | sort; echo "[${m[~]}]" "[${m[~/x]}]"
# ----
shopt -s localvar_unset
x=global; f() { local x=local; g; echo "f[$x]"; }; g() { unset x; echo "g[${x-unset}]"; }; f; echo "[$x]"
# ----
set -- q
for name in @ '*' '#' '?' 0 - 1 2 '$' '!'; do [[ -v $name ]]; echo "$name $?"; done
# ----
f() { if a & then b & fi; while a & do b; done; until a; b & do c; done; }
declare -f f
# ----
exec 2>&1; set -x
x='q r'; [[ a == "b c"* ]]; [[ a != 'b' ]]; [[ a == "$x" ]]; [[ a == $x ]]; [[ a == \b\* ]]; [[ 'a*' == "a*" ]]
# ----
bash -c 'set -u; declare -A m; echo ${#m[@]}; echo no'; bash -c 'set -u; a=(); echo ${#a[@]}'
