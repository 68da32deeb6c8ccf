# Splitting, tildes, parameters, descriptors.
# ----
exec {v}>f; echo $v; echo hi >&$v; cat f; exec {v}>&-; exec {w}<f; echo $w; read l <&$w; echo $l; exec {w}<&-; { echo x; } {q}>g; echo $q; exec {q}>&-
# ----
readonly v=1; exec {v}>f; echo $?; echo z
# ----
set -u; exec {v}>&-; echo after
# ----
declare -rl V; echo "${V@A}|${V@a}|"; declare -al W; echo "${W@A}|${W@a}|${W[@]@A}|${W[@]@a}"; declare -x X; echo ${X@a} ${X@A}; echo "${nope@A}|${nope@a}|${nope@Q}"; declare -A Z=([a]=1); echo ${Z@a} ${Z[@]@a} ${Z[a]@a}; n=1; echo ${n@a}z
# ----
x=abcdef; echo "${x:$((${#x} - 8))}"; echo ${x:0:$((0-9))}; set -- a b c; echo ${@:1:$(($# - 5))}; echo $?
# ----
set -- a b c d; echo ${@:2:2} ${@: -2} ${@:0} ${@:5}z ${*:1:1}; i=9; echo ${!9:-un} ; echo ${!1-q}; b=foo; foo=bar; echo ${!b} ${!b:1} ${!b/a/X} ${!b@Q}; echo ${!b*} ${!f@}; a=(x y); r='a[1]'; echo ${!r}; r='a[@]'; echo ${!r} "${!r}"; s=@; echo "${!s}"; h='#'; echo ${!h} ; unset q; echo ${!q-d}
# ----
set -- ab cd; IFS=; echo $* "$*" $@; IFS=x; echo $* "$*"; v=$*; echo "$v"; v=$@; echo "$v"; IFS=' x'; echo "a${*}b"; set --; echo "[$*]" [$@] "$@" "x$@y"; for i in "$@"; do echo never; done; set -- '' a ''; for i in "$@"; do echo "<$i>"; done; for i in $@; do echo "<$i>"; done; unset IFS; for i in $*; do echo "<$i>"; done; set -- "a b" c; for i in x$@y; do echo "<$i>"; done; for i in "x$@y"; do echo "<$i>"; done
# ----
IFS=:; x=a:b::c:; for i in $x; do echo "<$i>"; done; IFS=' :'; x=' a : b  c :: d '; for i in $x; do echo "<$i>"; done; x=:a; set -- $x; echo $#; IFS=$'\n'; x=$'a b\nc'; for i in $x; do echo "<$i>"; done; IFS=; x='a b'; for i in $x; do echo "<$i>"; done; unset IFS; x='  lead trail  '; echo [$x] "[$x]"; for i in a$x; do echo "<$i>"; done; for i in ${x}b; do echo "<$i>"; done; y=; for i in $y "$y" a$y ''$y; do echo "<$i>"; done
# ----
x='a*b'; y='[c]'; touch axb c; echo $x "$x" $y; set -f; echo $x; set +f; z='\*'; echo $z; echo "a"*; w='a\xb'; echo $w; v='c\'; echo $v; unset x; echo ${x-*} "${x-*}" ${x-"*"}; a=(*); echo ${a[@]}; case axb in $z) echo no;; a*) echo yes;; esac
