# Local variables, variables given before a command, attributes.
# ----
f() { local v=x; local -p; local a=(1); local; }; v=t f
# ----
f() { local v; declare -p v; }; v=t f
f() { local v=x; unset v; declare -p v; }; v=g; f; v=t f
# ----
f() { local x=1; trap 'echo "$x $?"' EXIT; exit 3; }; f
# ----
f() { local x=1; trap 'echo "$x $?"' EXIT; return 3; }; f; echo z
# ----
(f() { trap 'echo in $?' EXIT; exit 4; }; f); echo $?; x=$(f() { local q=5; trap 'echo $q' EXIT; exit 2; }; f); echo "$x $?"
# ----
trap 'echo a; exit 7' EXIT; f() { exit 2; }; f
# ----
trap 'echo a $?; false' EXIT; f() { echo ${u?x}; }; f
# ----
func() { var=value declare -x var; declare -p var; }; var=one; func; declare -p var
func() { local var=inside; var=value export var; declare -p var; }; func; declare -p var
y=3 export y; declare -p y; z=3 readonly z; declare -p z; w=2 declare w; declare -p w; q=5 local q; k=1 declare -i k=4+1; declare -p k
# ----
f() { local -r x=1; g; }; g() { local x=2; echo $x; local -r x; x=5; echo in; }; f
readonly x=9; h() { local x=3; echo $x; }; h; k() { local x; x=3; echo $x; }; k; echo z
# ----
set -o posix; foo=abc :; echo $foo; foo=x true; echo $foo; foo=y eval 'echo $foo'; echo $foo; f() { :; }; foo=z f; echo $foo
# ----
x[0]=5 f; x[1]=3 true; echo $?
# ----
a=1; f() { a=2; local a; echo "${a-unset}"; a=3; g; echo $a; }; g() { echo $a; a=4; unset a; echo "${a-unset}"; }; f; echo $a
# ----
a=1; f() { local a=2; unset a; echo "${a-unset}"; a=5; g; }; g() { unset a; echo "${a-u}"; a=9; }; f; echo $a
# ----
f() { local a b=$a c=$b; a=1; local d=$a; echo "$a,$b,$c,$d"; }; a=x; f; x=5 y=$x; echo $y; f() { local x=7 y=$x; echo $y; }; f
# ----
x=1 eval 'echo $x'; echo ${x-un}; x=2 command eval 'echo $x'; f() { echo $x; x=9; }; x=3 f; echo ${x-un}; x=1 y=$x bash -c 'echo $x,$y'; x=5; x=6 echo $x
# ----
f() { declare -g v=1; declare w=2; declare -gx z=3; }; f; declare -p v z; echo ${w-un}; f() { local v=l; declare -g v=g; echo $v; }; f; echo $v
# ----
declare -i i=5+5; i+=3; echo $i; i=x; echo $i; declare -l l=ABC; l+=DEF; echo $l; declare -u u=abc; echo $u; declare +u u; u=x; echo $u; declare -x e=1; declare +x e; declare -p e; export -n e; declare -r r=1; declare +r r; echo $?
# ----
readonly x=9; h() { local x=3; echo $x; }; h; k() { local x; x=3; echo $x; }; k; echo z
# ----
f() { local -r x=1; g; }; g() { local x=2; echo $x; local -r x; x=5; echo in; }; f
declare -p x; readonly x=9; declare -p x
# ----
shopt -s cdable_vars; v=/usr; cd v; pwd; cd //; pwd; cd -@ . ; echo $?; cd nosuch; echo $?; dirs +9; pushd / > /dev/null; dirs +0; dirs +9; echo $?
