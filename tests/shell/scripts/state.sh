# Errors, state, traps, redirections, attributes.
# ----
echo $((1/0)); echo no
echo next $?
# ----
f() { echo ${nope?msg}; }; f
echo no
# ----
readonly r=1; r=2
echo after $?
# ----
cd /nope || echo failed; cat < /nope; echo $?; echo x > /nope/y; echo $?; . /nope; echo $?
# ----
x=5; x[3]=7; declare -p x; a=(1 2 3); a=5; declare -p a; unset a[1]; declare -p a; a[10]=z; echo ${a[@]:2} ; echo ${#a[10]}; b=([5]=x y [2]=z); declare -p b; c=(a b); c+=([5]=q r); declare -p c
# ----
declare -A m=([x]=1 [y]=2); declare -p m; m+=([z]=3); echo ${#m[@]}; for k in x y z; do echo $k=${m[$k]}; done; key="a b"; m[$key]=sp; echo "${m[$key]}"; m["q]"]=br; echo ${m["q]"]}; unset 'm[x]'; unset "m[$key]"; echo ${#m[@]}; n=([a]=1); declare -p n
# ----
echo "${a[@]}" "${#a[@]}" ${a[0]-unset}; declare -a e=(); declare -p e; [[ -v e ]]; echo $?; e[0]=; [[ -v e ]]; echo $?; [[ -v e[0] ]]; echo $?
# ----
printf '%s\n' ${x:-{a,b}}; echo {a,b}$((1+1)) {$((1)),2}; echo a{1..3}b{x,y}; echo {1..3..0} {a..C} {1..a} {1,2; echo {,} x{} {} {a..}
# ----
exec 5>out; echo to5 >&5; { echo a; echo b >&2; } 2>&5; exec 5>&-; cat out; echo bad >&5; echo $?; exec 6<<< "hi"; cat <&6; exec {fd}>o2; echo v >&$fd; exec {fd}>&-; cat o2; echo x 3>&1 >&3; ls /nope 2>&1 >/dev/null | wc -l
# ----
echo abc > f; exec 3<>f; read -n1 c <&3; echo $c; echo -n X >&3; exec 3>&-; cat f; set -C; echo no > f; echo $?; echo yes >| f; cat f; set +C; : > f; wc -c < f
# ----
trap 'echo EXIT $?' EXIT; exit 5
# ----
trap 'echo ERR line' ERR; f() { false; true; }; f; set -E; f; false || true; if false; then :; fi; ! true; x=$(false); echo end
# ----
f() { trap 'echo inner exit' EXIT; }; f; echo main; (trap 'echo subexit' EXIT; exit 3); echo $?; $(trap 'echo cs >&2' EXIT)
# ----
set -e; trap 'echo bye $?' EXIT; echo start; (exit 3); echo never
# ----
set -eu; f() { local x=$1; echo $x; }; f a; y=$(f b); echo $y; f
# ----
set -x; a=1; echo $a "b c"; [[ a == b ]]; ((a+1)); for i in 1 2; do :; done; case $a in 1) echo one;; esac; f() { echo in; }; f x; a=$(echo sub); b=(1 2); if [ 1 = 1 ]; then :; fi; echo x > /dev/null; x=5 env >/dev/null; ! true
# ----
alias ll='echo LL'; ll; shopt -s expand_aliases
alias ll='echo LL' e2='ll again'
ll x; e2
alias for2='for i in'; for2 1 2; do echo $i; done
# ----
if true; then echo a; fi; if false; then :; elif true; then echo b; fi; while false; do :; done; echo $?; for i in; do :; done; echo $?; case x in esac; echo $?
# ----
a() ( echo sub; x=1; ); a; echo ${x-unset}; b() for i in 1 2; do echo $i; done; b; c() if true; then echo c; fi; c; function d { echo d $1; }; d 1; function e() { echo e; }; e; f-g() { echo dash; }; f-g; h.i() { echo dot; }; h.i
# ----
echo "a  b" 'c  d' e\ f "g'h" 'i"j' k"l"m'n'; echo "`echo "x y"`" "$(echo 'q  r')"; echo \$HOME "\$HOME" '$HOME' "\n" "a\
b" c\
d
# ----
x="  lead trail  "; echo $x; echo "$x"; for w in $x; do echo "<$w>"; done; y=$x; echo "[$y]"; z="$x"z; echo "[$z]"; set -- $x; echo $#; IFS=,; v=a,b,,c,; for w in $v; do echo "<$w>"; done; echo $v
# ----
n=3; eval "v$n=hi"; echo $v3; eval 'echo "$n"'; i=v3; echo ${!i}; printf -v "arr[2]" x; echo ${arr[2]}; read -r "q[1]" <<< z; echo ${q[1]}; declare "dyn_$n=5"; echo $dyn_3; export "E$n=6"; echo $E3
# ----
while read -r a b; do echo "$b-$a"; done << E | sort -r
1 2
3 4
E
cat << "X" | tr a-z A-Z
quoted $x
X
cat <<E1 <<E2
one
E1
two
E2
# ----
f() { echo "args: $# [$*] [$@]"; shift 2; echo "$1"; set -- new; echo $1; }; f a b c; echo "$1"; g() { echo $0 > /dev/null; echo "${FUNCNAME[@]}" "${BASH_LINENO[@]}"; }; g; h() { caller; caller 0; echo $LINENO; }
h
# ----
(
echo $LINENO
f() {
  echo $LINENO; nosuch
}
f
)
echo $LINENO
# ----
{ (kill -TERM $BASHPID; echo never); echo $?; bash -c 'kill -9 $$'; echo $?; } 2>/dev/null; sleep 10 & kill $!; wait $! 2>/dev/null; echo $?; kill %9; echo $?; kill -0 $$ ; echo $?
# ----
echo ${x@Q} ${HOME@A} ; arr=(1 'a b'); echo "${arr[@]@Q}" "${arr[@]@A}" "${arr@a}"; declare -A m=([k]='v w'); echo "${m[@]@K}" "${m[@]@k}"; declare -ir n=5; echo ${n@a} ${n@A}; s='\u@\h'; p='$HOME \$'; echo "${p@P}"; set -- "q r" s; echo "${@@Q}" "${*@Q}"
# ----
s="hello world"; echo ${s/world/[&]} "${s//o/<&>}" ${s/%d/D} "${s/ /\\&}" ${s//l} ${s/#/pre-} ${s/%/-post}; p="*"; echo "${s/$p/x}" "${s/"$p"/x}"; echo ${s:0:1}${s:6}; t=${s// /_}; echo $t; echo ${s#"hello "} ${s%%[ow]*}
# ----
printf '%s %s\n' a b c d e; printf 'x%sx\n'; printf '%d%%\n' 50; printf '%5.1f|%-8s|%08.3f\n' 3.14159 ab 2.5; printf '%x %X %#o\n' 255 255 8; printf '%i\n' -5; printf '%u\n' -1; printf '%c' a b c; echo; printf '%s\n' -5 --; printf -- '-x\n'; printf '\x41\101\u0041\n'; printf '%b\n' '\0101\x42'; printf '%q ' 'a$b' "c'd" '' 'e f' $'g\th' '~x' a=b '[z]'; echo
# ----
echo a | (read x; echo $x; cat); echo "p1" | cat - <(echo p2); paste <(seq 3) <(seq 4 6); comm -12 <(printf 'a\nb\n') <(printf 'b\nc\n'); cat < <(cat < <(echo nested)); echo >(true) | grep -c /dev/fd
# ----
mkdir -p sub/{a,b}; touch sub/a/{1,2}.txt; for f in sub/*/*.txt; do echo "${f##*/}"; done; cd sub; ls; echo */; cd ..; files=(sub/a/*); echo ${#files[@]}; shopt -s failglob; echo *.nope; echo after; shopt -u failglob; echo *.nope; shopt -s nocaseglob; touch AB; echo ab*; GLOBIGNORE='*.txt'; echo sub/a/*
# ----
unset IFS; x=$'a\tb\nc'; echo $x; IFS=$'\n'; for l in $x; do echo "[$l]"; done; unset IFS; IFS= read -r l <<< "  sp  "; echo "[$l]"; read l <<< "  sp  "; echo "[$l]"; read -r a b <<< "x\\ty z"; echo "$a"; read a b <<< "x\\ y z"; echo "$a|$b"; IFS=: read a b c <<< "::x"; echo "$a|$b|$c"; IFS=: read a b <<< "1:2:3:"; echo "$b"; IFS=: read a b <<< "1:2:"; echo "$b"; read a b <<< " 1  2  3  "; echo "[$b]"
# ----
hash -r; set -- a b c; echo "$*" "${*:2}" "${@:0:1}" > /dev/null; echo ${*: -1}; echo "${@: -2:1}"; set -- ; echo $#; set -- -a; echo $1; set a b; echo $2; set -o | grep -c on > /dev/null; set +o | head -1; shopt extglob; shopt -q extglob; echo $?; shopt -p extglob; [[ -o errexit ]]; echo $?
# ----
mkfifo p; echo hi > p & cat p; wait; (sleep 0.05; echo later > p) & read x < p; echo "got $x"; cat p & echo to-bg > p; wait; rm p; echo done
# ----
mkfifo q; while read -r l; do echo "r:$l"; done < q & for i in 1 2 3; do echo $i; done > q; wait; [ -p q ] && echo fifo; exec 3<>q; echo x >&3; read y <&3; echo $y; exec 3>&-
# ----
set -v
echo one
x=1
set +v
echo two
# ----
false; echo $(true) $?; true; echo $(exit 3) $? "$(exit 4)$?" `exit 5` $?; x=$(exit 6)$?; echo $x $?; false; y=$? z=$(exit 2)$?; echo $y $z $?
# ----
false; echo $((1 + $(exit 3; echo 1) + $?)); f() { echo "$1 $?"; }; false; f $(exit 9); case $(exit 3) in *) echo $?;; esac; for i in $(exit 4) $?; do echo $i $?; done; [[ $(exit 5) == "" ]] && echo $?; cat <<< "$(exit 7)$?"; cat <<EOF
$(exit 8)$?
EOF
# ----
false; echo $(echo $?) $?; (exit 4); echo $(exit 5; ) "$(echo $?)" $?; a=($(exit 6) $?); echo ${a[@]}; a[$(exit 2)$?]=1; echo ${!a[@]}; false; if [ $(exit 3) ]; then :; else echo $?; fi; local_() { local v=$(exit 9); echo $?; }; local_; false; echo ${x:-$(exit 3)$?} $?
# ----
PS4='$(echo +) '; set -x; false; echo $? 2>/dev/null; set +x
# ----
set -e; echo "$(false) $?"; x=$(false) || echo c $?; echo $(exit 3) | cat; f() { return $?; }; f $(exit 0); echo ok; f $(exit 4); echo no
# ----
x=$(exit 3) true; echo $?; $(exit 5); echo $?; $(true) ; echo $?; readonly r=$(exit 4); echo $?; export e=$(exit 4); echo $?; ! $(exit 3); echo $?; $(exit 7) > f; echo $?; v=1 $(exit 8); echo $?; : $(exit 9); echo $?; (exit 2) ; y=$?$(exit 3); echo $y $?; if x=$(exit 3); then :; else echo e $?; fi; while w=$(exit 6); do :; done; echo $?; return $(exit 2) 2>/dev/null; echo $?
# ----
f() { echo "n=$# s=$?"; }; false; f; f "$(exit 3)"; x=$(<nofile); echo $?; x=$(</dev/null); echo $?; echo "$(<nofile)$?" 2>/dev/null; exit $(exit 3)
# ----
echo one > log; exec 5>> log 6< log; read -u6 x; echo two >&5; read -u6 y; echo $x $y; 
read -u6 z; echo three >&5; read -u6 z; echo [$z]
echo x >&5; cat <&6; mapfile -u 6 a; echo x2 >&5; mapfile -u 6 a; echo ${a[@]}; echo x3 >&5; head -1 <&6
# ----
hash -r; cat < /dev/null; cat < /dev/null; hash | cut -c 1-4; command cat < /dev/null; hash | head -2 | cut -c 1-4; hash cat; hash | head -2 | cut -c 1-4; hash -r; hash -l; echo $?
# ----
hash -r; hash -p /bin/cat kitty; hash; kitty < /dev/null; kitty < /dev/null; hash; (kitty < /dev/null; hash); hash; hash -l; hash -lt kitty; hash -d kitty; hash -d kitty; echo $?; hash
# ----
umask ,; umask g=,; umask u=x,,; umask u=r,q; umask u; umask 'u=rq,g'; umask '+'; umask ''; umask
# ----
exec 5>xt; BASH_XTRACEFD=5; set -x; echo a; set +x; cat xt; unset BASH_XTRACEFD; set -x; echo b; set +x; BASH_XTRACEFD=; set -x; echo c; set +x; BASH_XTRACEFD=99; BASH_XTRACEFD=abc; set -x; echo d
# ----
exec {BASH_XTRACEFD}>t; set -x; echo hi; (echo sub); f() { echo f; }; f; set +x; cat t; BASH_XTRACEFD=2; set -x; echo q; exec 2>/dev/null; echo r
# ----
BASH_XTRACEFD=1; set -x; echo a; exec 1>f; echo b; set +x; cat f >&2
# ----
BASH_XTRACEFD=7 eval 'set -x; echo a' 7>f; set +x; cat f
# ----
caller 0; echo $?; caller 9999; echo $?; f() { caller 1; echo $?; caller -1; echo $?; caller 5; echo $?; caller 1 2; }; f
# ----
bash -c 'echo "$BASH_EXECUTION_STRING"; bash -c "echo \$BASH_EXECUTION_STRING" x; (echo ${#BASH_EXECUTION_STRING})'; echo 'echo ${BASH_EXECUTION_STRING-unset}' > s; bash s; echo 'echo ${BASH_EXECUTION_STRING-unset}' | bash
# ----
bash -xc 'echo a' ; bash -ac 'env | grep -c EXECUTION'; bash -ic 'echo $BASH_EXECUTION_STRING' 2>/dev/null
