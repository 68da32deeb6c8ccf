# Small programs as people write them.
# ----
diff <(echo a; echo b) <(echo a; echo c); echo $?
# ----
declare -A m; for k in apple banana cherry date elder fig grape; do m[$k]=${#k}; done; echo "${!m[@]}" "${m[@]}"; declare -p m; for k in "${!m[@]}"; do echo "$k -> ${m[$k]}"; done
# ----
s=abc; echo ${s/#/pre-} ${s/%/-post} ${s/#a/X} ${s//b/} ${s/b} "${s/#abc}" ${s////x}; p=a/b/c; echo ${p////} ${p//\//-} ${p///x}
# ----
set -o nounset; arr=(); for x in "${arr[@]}"; do echo $x; done; echo "${arr[*]}" ${#arr[@]} ${arr[@]:0:1}; echo "${1:-d}" "${@:1}"
# ----
x=abc; echo "${x:1:1}${x:(-1)}" "${x: -1}" ${x:0:$((1+1))} ${x:${#x}-1}; y=$'a\u00e9b'; echo ${#y} ${y:1:1} ${y^^}; echo ${x:-1} ; echo ${x:5:1}end ${x:-${y}}
# ----
echo ${x:-"$(echo "a b")"} ${x:-'a b'} ${x:+"no"} "${x:-"a" 'b'}" "${x:-\$\"\}}" ${x:-\}} "${x:-$'a'}" "${x:-a{b}c}"
# ----
a=(1 2 3 4 5); echo ${a[@]:1:3} ${a[@]: -2} ${a[@]:0} ${#a[@]} "${a[*]:2}"; IFS=-; echo "${a[*]}" ${a[*]}; echo "${a[@]}"; unset IFS; b=("${a[@]/#/x}"); echo ${b[@]}; echo "${a[@]%3}" ; a=("${a[@]:0:2}" "${a[@]:3}"); echo ${a[@]}; unset a; echo ${#a[@]}
# ----
f() { local IFS=,; echo "$*"; }; f a b c; echo "$*" ; x="a,b"; g() { local IFS=,; set -- $x; echo $#; }; g; set -- $x; echo $#
# ----
f() { declare -g G=1; local L=2; export EX=3; readonly RO=4; }; f; echo $G ${L-none} $EX $RO; h() { unset G; }; h; echo ${G-gone}; k() { local z; z=1; (( z++ )); unset z; z=9; }; z=0; k; echo $z; o() { local a=1; i; echo "o:${a-unset}"; }; i() { unset a; echo "i:${a-unset}"; a=5; }; a=g; o; echo $a
# ----
f() { local x; echo "[${x-unset}]"; local x=5; echo $x; local y=$x z=$y; echo "$z"; }; x=out f; y=Y; g() { local y=$y; y+=1; echo $y; }; g; echo $y; export E=1; h() { local E=2; bash -c 'echo $E'; }; h; echo $E
# ----
declare -i a=10 b; b=a*2; echo $b; a+=5; echo $a; b="3 + 4"; echo $b; declare -i arr=(1+1 2*3); echo ${arr[@]}; arr[0]+=5; echo ${arr[0]}; declare -i x=abc; echo $x; let a++ b--; echo $a $b
# ----
echo $((1 ? 2 : 0 ? 3 : 4)) $((1+1,2)) $((a=1,b=a+1,b)) $((- - 5)) $((!5)) $((~0)) $(( 5 == 5 != 0)) $((1<2<3)) $((4|2&1^7)) $((0x10 + 010 + 2#11 + 16#fF)) $((1 << 2 + 1)) $(((1))) $(( 'a' ))
# ----
echo $((5 +)); echo no
# ----
echo $((1 1)); 
# ----
((x = 5)) && echo "x=$x"; ((y = 0)) || echo "zero"; (( 1 > 2 )) ; echo $?; if (( x == 5 )); then echo five; fi; while (( x-- > 2 )); do echo $x; done; echo $((x += 10, x *= 2)); ((a[2]=3, a[0]=1)); echo ${a[@]}; echo $((a[2]+a[0])) $((${a[2]}-1)) $(( ${#a[@]} ))
# ----
cat <<'E' > t.sh
#!/bin/bash
# comment
usage() { echo "Usage: $(basename "$0") [-v] [-n NAME] file" >&2; exit 2; }
verbose=0 name=
while getopts ":vn:h" opt; do
  case $opt in
    v) verbose=1 ;;
    n) name=$OPTARG ;;
    h) usage ;;
    :) echo "missing arg for -$OPTARG"; exit 3 ;;
    \?) echo "bad -$OPTARG"; exit 4 ;;
  esac
done
shift $((OPTIND - 1))
echo "v=$verbose n=$name rest=$*"
E
chmod +x t.sh; ./t.sh -v -n bob x y; ./t.sh -n; echo $?; ./t.sh -z; echo $?; bash t.sh -vnalice; ./t.sh -h; echo $?
# ----
log() { printf '[%s] %s\n' "$1" "${*:2}"; }; log INFO hello world; retry() { local n=$1 i; shift; for ((i=1;i<=n;i++)); do "$@" && return 0; echo "try $i failed"; done; return 1; }; retry 3 false; echo $?; retry 2 true && echo ok; cleanup() { rm -f tmpfile; echo cleaned; }; trap cleanup EXIT; touch tmpfile; [[ -f tmpfile ]] && echo exists
# ----
while IFS=, read -r name age city; do printf '%-10s %3d %s\n' "$name" "$age" "$city"; done <<CSV | sort -k2 -n
alice,30,Paris
bob,25,"New York"
CSV
total=0; while read -r _ n; do (( total += n )); done < <(printf 'a 1\nb 2\n'); echo "total $total"
# ----
arr=(5 3 8 1); n=${#arr[@]}; for ((i=0;i<n;i++)); do for ((j=0;j<n-i-1;j++)); do if ((arr[j]>arr[j+1])); then t=${arr[j]}; arr[j]=${arr[j+1]}; arr[j+1]=$t; fi; done; done; echo "${arr[@]}"; rev=; s=hello; for ((i=${#s}-1;i>=0;i--)); do rev+=${s:i:1}; done; echo $rev; is_prime() { local n=$1 i; ((n<2)) && return 1; for ((i=2;i*i<=n;i++)); do ((n%i==0)) && return 1; done; return 0; }; for i in {1..20}; do is_prime $i && echo -n "$i "; done; echo
# ----
declare -A cnt; for w in a b a c b a; do ((cnt[$w]++)); done; for k in "${!cnt[@]}"; do echo "$k ${cnt[$k]}"; done | sort; stack=(); push() { stack+=("$1"); }; pop() { echo "${stack[-1]}"; unset 'stack[-1]'; }; push 1; push 2; pop; echo ${#stack[@]}; q=(a b c); q=("${q[@]:1}"); echo ${q[0]}; [[ " ${q[*]} " == *" b "* ]] && echo found; printf '%s\n' "${q[@]}" | sort -r | head -1; IFS='|'; echo "${q[*]}"
# ----
x='$(echo hi)'; echo "$x"; eval "echo $x"; y='`echo bq`'; echo $y; a='b c'; b=$a; echo "$b"; echo "${a}x" "$a"x; echo "$(echo "$a")"; echo '$a' "\$a" "'$a'" "\"$a\""; echo "a\\b" 'a\\b' a\\b; echo "$'x'" $'\'' "a'b"; echo -e "a\\nb"
# ----
f() if [[ $1 ]]; then echo yes; else echo no; fi; f; f 1; { echo grouped; } | cat; ( cd /tmp && pwd ); pwd | sed "s#.*#CWD#"; (exit 7); echo $?; { (exit 8); }; echo $?; ! (exit 0); echo $?; : ${v:=default}; echo $v; : "${w=}"; echo "[$w]"; [ -t 0 ] || echo notty
# ----
echo one; echo two >&2; echo three 1>&2 2>/dev/null; { echo o; echo e >&2; } 2>&1 | cat; exec 3>&1; x=$(echo captured; echo direct >&3); echo "$x"; exec 3>&-; y=$( { echo err >&2; echo out; } 2>&1 ); echo "$y"; ls /nonexistent 2> /dev/null || echo "ls failed $?"; cat nofile 2>&1 | wc -l
# ----
type() { echo overridden; }; type x; unset -f type; echo() { builtin echo "my: $*"; }; echo hi; unset -f echo; echo hi; cd() { builtin cd "$@" && pwd; }; cd /; command cd /tmp; pwd; unset -f cd; test() { :; }; unset -f test; test 1 = 1 && builtin echo yes; enable -n echo; enable echo; echo back
# ----
printf "%s\n" "$(seq 3)" | while read -r n; do echo $((n*n)); done | paste -sd+ ; seq 5 | awk '{s+=$1} END {print s}'; echo "a:b:c" | tr : '\n' | nl; printf '3\n1\n2\n' | sort | xargs; echo {1..5} | xargs -n2 echo; find . -name '*.zzz' | wc -l; echo hello | sed 's/l/L/g'; echo foo | grep -q foo && echo match
# ----
enable -n test [ kill
touch x
test -f x; echo $?
[ -f x ]; echo $?
if [ x = x ]; then echo yes; fi
for n in 1 2 3; do [ "$n" = 2 ] && echo "$n"; done
kill -l 9
type -t [ test kill
enable [
type -t [
