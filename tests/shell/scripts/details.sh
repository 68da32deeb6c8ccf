# Finer points of the language, one subject a section.
# ----
set -- a b c; echo "${@:2}" "${*:1:2}" "${@:0}" | sed 's/[^ ]*bash/BASH/'; echo "${@: -1}" "${#@}" ${#*}; f() { echo "${@:1:1}"; }; f "x y" z; shift 5; echo $? $#
# ----
compgen -W "apple banana cherry" b; compgen -A function; compgen -b | grep -c '^cd$'; compgen -v HOME; complete -W "a b" foo; complete -p foo; help cd > /dev/null && echo helped; history; fc 2>/dev/null; echo done
# ----
wait -n; echo $?; (exit 2) & (exit 2) & wait -n; echo $?; wait; echo $?; sleep 0.01 & pid=$!; wait -p v $pid; [[ $v == $pid ]] && echo same; jobs -p; { exit 9; } & wait %1; echo $?; disown 2>/dev/null; echo $?
# ----
exec 3>&1 4>&2; { echo out; echo err >&2; } >f1 2>f2; cat f1 f2; exec 3>&- 4>&-; echo x >&3; echo $?; { echo a; } 3>&1 >&3 3>&-; cat <<EOF 3<&0 <&3
heredoc
EOF
# ----
read -r x y <<< "a b c"; echo "$x/$y"; read -ra arr <<< "p q r"; echo "${#arr[@]}"; IFS=: read -r u p _ <<< "root:x:0:0"; echo $u $p; printf 'k=v\n' | { IFS== read k v; echo $k $v; }; read -rd '' multi <<< $'l1\nl2'; echo "$multi"; read -N 2 ab <<< xyz; echo $ab; read -t 0 z < /dev/null; echo $?; echo "a\\nb" | { read x; echo $x; }; echo 'a\' | { read x; echo "$x $?"; }
# ----
declare -A a=([x y]=1 ["q\"r"]=2); for k in "${!a[@]}"; do printf '%s=%s\n' "$k" "${a[$k]}"; done | sort; [[ -v a["x y"] ]] && echo v; unset "a[x y]"; echo ${#a[@]}; b=("${!a[@]}"); echo "$b"; declare -A c; c=([one]=1 [two]=2); for k in one two; do echo ${c[$k]}; done; c+=([three]=3); echo ${#c[@]}; echo "${c[@]}" | wc -w; (( c[one]+=5 )); echo ${c[one]}; k=two; (( c[$k]++ )); echo ${c[two]}; declare -p c | wc -c
# ----
a=([3]=c [1]=a); echo "${a[@]}" "${!a[@]}"; a[-1]=z; echo ${a[3]}; a+=(d e); echo ${!a[@]}; unset 'a[-1]'; echo ${!a[@]}; echo "${a[@]:2:2}"; for i in "${!a[@]}"; do echo "$i:${a[i]}"; done; x=(a b c); x[1]+=B; echo ${x[1]}; y=("${x[@]^^}"); echo ${y[@]}; z=(${x[@]/b*/}); echo ${#z[@]}; x=(); echo ${#x[@]} "${x[@]:-empty}"; e=(""); echo ${#e[@]}; m=(1 2); m=(); echo ${m[0]-none}
# ----
printf '%s\n' {1..3}.{a,b} | tr '\n' ' '; echo {10..1..3} {z..w} {1..2}{3..4} a{,b,c} pre{x,y}post {a,{b,c}}; echo {001..3} {-3..3..2} {a..e..2}; v=3; echo {1..$v}; eval echo {1..$v}; echo "{a,b}" '{a,b}' \{a,b} {a\,b,c} {"a b",c} ; echo ${v}{1,2}; echo {$v,x}
# ----
x=5; case $x in [0-4]) echo low;; [5-9]) echo high;; esac; case "a b" in "a b") echo sp;; esac; case abc in a*c) echo 1;;& *b*) echo 2;;& z) echo 3;; *) echo 4;; esac; case $nope in "") echo empty;; esac; case x in (x) echo paren;; esac; case "$(echo hi)" in h?) echo cs;; esac; shopt -s nocasematch; case ABC in abc) echo nc;; esac; [[ ABC == abc ]] && echo nc2; shopt -u nocasematch; case '[x]' in \[*\]) echo br;; esac; case a in [!b]) echo nb;; esac; case - in [a-]) echo dash;; esac; case ']' in []]) echo rb;; esac
# ----
[[ "abc" == a?c ]] && echo 1; [[ abc != abd ]] && echo 2; [[ -n "x" && ( 1 -eq 1 || 2 -eq 3 ) ]] && echo 3; [[ ! -e /nope ]] && echo 4; [[ "2" -lt "10" ]] && echo 5; [[ "2" > "10" ]] && echo 6; [[ "a.b" =~ ^a\.b$ ]] && echo 7; re='([a-z]+)([0-9]+)'; [[ foo123bar =~ $re ]] && echo ${BASH_REMATCH[0]} ${BASH_REMATCH[1]} ${BASH_REMATCH[2]} ${#BASH_REMATCH[@]}; [[ foo =~ "o+" ]] || echo 8; [[ "x y" =~ x[[:space:]]y ]] && echo 9; [[ $'a\nb' =~ a.b ]] && echo 10; [[ abc =~ (x)?abc ]] && echo "[${BASH_REMATCH[1]}]"; [[ a =~ [ ]] 2>/dev/null; echo $?; [[ -v HOME ]] && echo set; [[ "" ]] || echo emptyfalse; [[ a -ef a ]] || echo ef; [[ 1+1 -eq 2 ]] && echo arith
# ----
f() { echo "$@"; return $#; }; f a b; echo $?; g() { f "$@" extra; }; g 1; echo $?; r() { [[ $1 -le 0 ]] && return; echo $1; r $(($1-1)); }; r 3; unset -f r; r 2>/dev/null || echo gone; k() { local -r c=1; c=2; echo unreachable; }; k; echo "rc=$?"; v() { local a=1; w; }; w() { echo "a=$a"; a=2; echo "a=$a"; }; a=0; v; echo $a; n() { n2() { echo nested; }; }; n; n2; x() { return 300; }; x; echo $?; y() { echo ${FUNCNAME[0]}; }; y; (y); z() (exit 5); z; echo $?
# ----
set -e; f() { false; echo "in f"; }; if f; then echo "f ok"; fi; f || true; ! f; while false; do :; done; echo x | false | true; [ 1 = 2 ] || echo alt; x=$(echo a; false; echo b) || echo "x=$x"; (true; false) || echo subfail; { false; } || echo groupfail; echo end; false; echo no
# ----
set -e; trap 'echo "ERR $?"' ERR; trap 'echo "EXIT $?"' EXIT; f() { return 4; }; f || echo handled; local_test() { local v=$(false); echo "local ok"; }; local_test; v=$(exit 6); echo unreachable
# ----
set -eo pipefail; echo a | cat; x=$(echo hi | grep hi); echo $x; echo zz | grep q || echo nomatch; echo q | grep zz | cat; echo no
# ----
trap 'echo T1' TERM; trap; kill -TERM $$; trap - TERM; trap 'echo hup; exit 2' HUP; (trap - HUP; echo sub); kill -HUP $$; echo no
# ----
trap 'echo "line $LINENO"' ERR
false
f() {
  false
}
f
echo ok
# ----
IFS=; x="a b"; set -- $x; echo $#; unset IFS; set -- $x; echo $#; IFS=' '; y='a  b'; set -- $y; echo $#; IFS=,; z='a,,b,'; set -- $z; echo $#; echo "$*"; IFS=xy; w='1x2y3'; echo $w; IFS=$' \t\n'; printf '%s|' $(echo ' a  b '); echo; IFS=. read a b c d <<< 192.168.0.1; echo $d; IFS='|' ; s='x|y'; a=($s); echo ${#a[@]}; unset IFS; echo "${IFS-unset}"
# ----
echo "$(cat <<'X'
a $b `c`
X
)"; cat <<-'T'
	tab $x
		two
	T
cat << EOF1; cat << EOF2
$(echo sub in heredoc) ${x:-def} $((2*3)) \$ \\ \` "q" 'q'
EOF1
second
EOF2
cat <<EOF | while read l; do echo "[$l]"; done
l1
l2
EOF
f() { cat <<E
in func $1
E
}; f arg; cat <<\E
$no
E
cat <<"A B"
spaces
A B
x=$(cat <<E
h $(echo nested)
E
); echo "$x"
# ----
printf '%s\n' "a b" c; printf '%d items\n' 3; printf '%05.2f\n' 3.14159; printf '%s %s\n' one; printf '[%10s][%-10s]\n' r l; printf '%x %o %e\n' 255 8 12345.678; printf '\\n\t|\n'; printf '%b\n' 'a\nb'; printf '%q\n' 'a b&c'; printf '%c%c%c\n' x yz; printf '%+d % d\n' 5 5; printf '%(%Y)T\n' 0; printf '%s' ''; printf 'no newline'; echo; printf '%3d|%-3d|%03d\n' 5 5 5; printf '%.3s|\n' abcdef; printf '%*s|\n' 6 ab; printf '%s\n' ${nope[@]}; printf '%d\n' 9223372036854775808 2>&1 | tail -1; printf '%i %u\n' -3 3; printf "%s\0" a b | od -c | head -1; printf '%5%|\n'; printf '%z' 2>&1; echo; printf
# ----
f=path/to/file.tar.gz; echo ${f%/*} ${f##*/} ${f%%.*} ${f#*.} ${f%.gz} ${f/to/TO} ${f//\//:}; d=${f%/*}; b=${f##*/}; echo "$d|$b|${b%%.*}|${b#*.}"; v="  trim me  "; v="${v#"${v%%[![:space:]]*}"}"; v="${v%"${v##*[![:space:]]}"}"; echo "[$v]"; s=a-b-c; echo ${s//-/ } ${s//[-]/_} ${s/-/} ${s%%-*} ${s##*-}; u=$'x\ty'; echo "${u//$'\t'/ }"; n=0042; echo $((10#$n)) ${n##+(0)}; echo ${n/#0/}; url=http://h:80/p?q=1; echo ${url#*://} ${url%%\?*}; t=${url#*//}; echo ${t%%/*}
# ----
a=1; b=a; c=b; echo ${!b} ${!c}; arr=(x y z); i=1; echo ${arr[i]} ${arr[$i]} ${arr[i+1]} ${arr[$((i-1))]} ${arr[-1]} ${#arr[i]}; n=arr; r="$n[@]"; echo "${!r}"; r="$n[1]"; echo ${!r}; declare -n ref=arr; echo ${ref[2]} ${#ref[@]}; ref[0]=X; echo ${arr[0]}; unset -n ref; echo ${ref-unset}; p=HOME; echo ${!p}; f() { declare -n out=$1; out=val; }; f res; echo $res; f2() { local -n o=$1; o+=(more); }; f2 arr; echo ${arr[@]}; echo ${!a@} | wc -w; v_1=1 v_2=2; echo ${!v_*}; for k in ${!v_@}; do echo $k=${!k}; done
# ----
cd /tmp; pushd / >/dev/null; dirs -v; pushd /usr > /dev/null; dirs; popd > /dev/null; pwd; popd >/dev/null; pwd; popd; echo $?; cd; pwd 2>/dev/null; cd /usr/../usr/./bin; pwd; cd ..; pwd; cd - >/dev/null; pwd; echo $OLDPWD; CDPATH=/usr; cd lib > /dev/null; pwd; cd /nope; echo $?; cd a b; echo $?; cd ""; echo $?; HOME=/tmp; cd; pwd; (cd /; pwd); pwd
# ----
test 1 -eq 1 -a 2 -gt 1; echo $?; [ -n "" -o -z "" ]; echo $?; [ ! "" ]; echo $?; [ "a" != "b" ]; echo $?; [ -e / -a ! -f / ]; echo $?; test "(" = "("; echo $?; [ "" = "" ]; echo $?; [ -f ]; echo $?; [ ! ]; echo $?; [ a b ]; echo $?; [ 1 = 1 = 1 ]; echo $?; test -x /bin/sh; echo $?; test a \< b; echo $?; [ 08 -eq 8 ]; echo $?; [ " 5 " -eq 5 ]; echo $?; test -v HOME; echo $?; test -o errexit; echo $?; [ ! -z x -a ! -z y ]; echo $?
# ----
f() { local -; set -f; echo *; }; f; echo $-; g() { local x=$(exit 3); echo $?; local y; y=$(exit 4); echo $?; }; g; export x=$(exit 5); echo $?
# ----
for f in a b; do case $f in a) continue;; esac; echo $f; done; while read x; do [[ $x == b ]] && break; echo $x; done <<< $'a\nb\nc'; for i in 1 2 3; do for j in 1 2 3; do [[ $j == 2 ]] && continue 2; echo $i$j; done; done; until [[ $((++n)) -ge 3 ]]; do echo u$n; done; for ((;;)); do ((++q>2)) && break; done; echo $q; select s in; do :; done; echo end
# ----
{ echo a; exit 3; echo b; } | cat; echo ${PIPESTATUS[0]}; (exit 4); echo $?; x=$(exit 5); echo $?; f() { exit 6; }; (f); echo $?; eval 'exit 7' | true; echo ${PIPESTATUS[@]}; return 8 2>/dev/null; echo $?; exit 9; echo no
# ----
v=abc; v+=def; echo $v; declare v+=g; echo $v; a=(1); a+=2; echo ${a[0]}; a+=(3); echo ${a[@]}; declare -i i=1; i+=1; echo $i; s="x"; s+=$s$s; echo $s; export E=1; E+=2; env | grep ^E=; readonly R=1; R+=2; echo after
# ----
echo a\
b; echo 'a\
b'; echo "a\
b"; if true
then echo t
elif false
then echo e
else echo f
fi; for x in 1 \
2 3
do
echo $x
done; case a in
a)
echo ca
;;
esac; f ()
{
echo f
}
f; a=(
1 # comment
2
); echo ${a[@]} # trailing
! false && echo n; { echo b
}; (echo s
); while false
do :
done; echo a &&
echo b ||
echo c; echo x |
cat
# ----
echo $(( 1 +
2 )); x=$(
echo multi
echo line
); echo "$x"; y="$(
cat <<E
in
E
)"; echo $y; [[ a == a &&
b == b ]] && echo ok; ((
1 > 0
)) && echo ok2; echo ${x:-
def}; arr=([0]=a
[2]=c); echo ${!arr[@]}
# ----
echo $'\x41\x{42}\103\u0044\e[0m' | od -c | head -1; printf '%b' '\x41\n'; echo -e '\x41\0102\u43'; echo $'tab\there' "no\tescape" $'q\'q' $'d"d'; x=$'a\nb'; echo "$x" | wc -l; printf '%s' $'\t' | od -An -c; echo $"localized"; printf '%q\n' $'\e' $'a\tb' "é"
# ----
echo ${BASH_VERSION%%[^0-9.]*} | cut -d. -f1-2; echo $BASH; echo ${#BASH_VERSINFO[@]}; echo $OSTYPE $HOSTTYPE $MACHTYPE; echo $IFS | od -An -c; echo ${PS4}; echo $OPTIND; echo ${SHELLOPTS} ; echo $EUID; echo "$BASHPID" | grep -c '[0-9]'; [[ $EPOCHSECONDS -gt 1000 ]] && echo ep; [[ $EPOCHREALTIME == *.* ]] && echo er; echo $DIRSTACK; echo $SRANDOM | grep -c '[0-9]'; echo $_ ; true abc; echo $_; echo $COLUMNS$LINES; echo ${GROUPS[0]}; echo $BASH_SUBSHELL; unset RANDOM; echo "[$RANDOM]"
# ----
set -- x; [ $# -gt 0 ] && shift; echo $#; set -- 'a b' c; for a; do echo "[$a]"; done; echo "${*}" "${@}"; f() { echo $#; }; f "$@"; f $@; f "$*"; f "${@/b/X}"; set -- "${@/#/p-}"; echo "$1"; set -- $(seq 3); echo ${@: -2}; IFS=,; echo "$*"; set --; f "$@" ; f "${@-}" ; f ${@-}; set -- "" ""; f "$@"; f $@
# ----
[[ $(type -t [[) == keyword ]] && echo kw; type -t if [ : . source eval; type : ; command -V if; command -v ls cat | wc -l; command -p echo cp; builtin echo bi; builtin nope; echo $?; enable -n pwd; type -t pwd; enable pwd; type -t pwd; unalias nope; echo $?; alias a='b c'; alias a; type -t a; \echo esc; 'echo' q; e=echo; $e var; "$e" v2; ec''ho v3
# ----
shopt -s extglob nullglob; touch a.c b.c c.h 'sp ace'; for f in *.@(c|h); do echo $f; done; echo !(*.c) ; echo *.x; rm -f !(a.c); ls; [[ foobar == foo*(bar) ]] && echo m; [[ aab == +(a)b ]] && echo m2; x="  t  "; echo "[${x##+( )}]"; case abc in ?(x)a*(b)c) echo m3;; esac; echo "${x//+([[:space:]])/_}"; shopt -u nullglob; echo *.zz; touch {1..12}.n; echo [1-3].n ?.n | wc -w; echo 1[0-2].n; shopt -s nocaseglob; echo A.C; echo [A]*; echo [[:digit:]].n | wc -w
# ----
ulimit -S -n 100; ulimit -n; ulimit -Hn 50; ulimit -n; ulimit -Q 2>/dev/null; echo $?; ulimit -n abc; echo $?; ulimit -v 100000; ulimit -v; ulimit -c 0; ulimit -p 4; echo $?; (ulimit -n 60; ulimit -n); ulimit -n; ulimit -f 1000000; bash -c 'ulimit -f'; ulimit -q; ulimit -c -n
# ----
echo 'X=5; echo env $0 $1' > be.sh; BASH_ENV='$PWD/be.sh' bash -c 'echo $X $1' zero one; BASH_ENV=$PWD/be.sh sh -c 'echo s$X'; BASH_ENV=/nonexistent bash -c 'echo ok'; echo 'exit 4' > be.sh; BASH_ENV=$PWD/be.sh bash -c 'echo no'; echo $?; echo 'echo scr $X' > sc.sh; echo X=7 > be.sh;  BASH_ENV=./be.sh bash sc.sh
# ----
exec -a foo bash -c 'echo $0; exec -a bar bash -c "echo \$0"'
# ----
(exec -l bash -c 'echo $0'); (exec -cl env | grep -c HOME); (exec -abar bash -c 'echo $0')
# ----
printf '%s\n' 'set -o history' 'echo one' 'echo two three' 'x=5' 'fc -l' 'fc -s one=1 echo' 'fc -ln -2' 'fc -lr 2 3' 'history | tail -3' 'fc -s x' 'fc -l nothing' 'history -d 2; history 3' | bash
# ----
set -e
for i in 1 2; do echo $((1/0)); done
echo next
f() { echo $((1 % 0)); echo no; }; f
echo $?
# ----
i=1; a[i]=$((i++)); declare -p a i; a[$((i++))]=$i; declare -p a; declare -A m; m[k$i]=$((i += 2)); echo ${!m[@]}
for ((i = 0; i < 2; i++)); do echo $((1/0)); done; echo no
for ((i = 1; 1 / i; i--)); do echo $i; done; echo $?
# ----
printf "%0100d" 1 > /dev/full; echo $?; echo hi > /dev/full; echo $?; (echo hi > /dev/full); echo $?
(exec > /dev/full; echo hi); echo $?; f() { echo x; }; f > /dev/full; echo $?; head -1 /etc/passwd > /dev/full; echo $?
x=$(echo a > /dev/full); echo $?; echo a | cat > /dev/full; echo $?; { echo a; } > /dev/full || echo failed
set -e; echo z > /dev/full || echo failed; echo y > /dev/full; echo never
# ----
ulimit -S -n 100; ulimit -n; ulimit -Hn 100; ulimit -n; ulimit -H -n; (ulimit -n 50; ulimit -n); ulimit -n; exec 100>x; echo $?
ulimit -n 20; exec 30>x; echo $?; exec 12>x; echo $?; bash -c 'ulimit -n'; for i in {1..30}; do exec {fd}>x || break; done 2>&-; echo $fd
# ----
x=(1 2) echo hi; echo $?; x=(1 2) ; echo ${x[@]}; x=(1 2) y=3 env | grep ^y; x=1 y=(3) f
# ----
for i in 1 2; do { sleep 0.1; echo $i; } | break; done; echo ${PIPESTATUS[@]}; for i in 1 2; do echo a | while read x; do break; done; echo $i; done; for i in 1 2; do echo x | { break; echo no; }; echo $?; echo y | (break; echo yes); continue | cat; done
# ----
x=(1 2) env | grep ^x; x=([3]=b "q r") bash -c "echo \$x"; f() { declare -p x; }; x=(1 2) f; x=(1 2) eval "declare -p x"; y=5; x=($y '$y' "$y z") env | grep ^x; x[1]=3 env | grep ^x
# ----
set -u; (echo $1); (echo ${1}); (echo "${1%a}"); (echo $12); (echo ${!}); (echo $!); set -- a; echo $1{b,c}; x=q xa=1 xb=2; echo $x{a,b}
# ----
for i in 1; do break x; done; echo $?
# ----
for i in 1; do break -- 1; done; echo $?; for i in 1; do break -1; done; echo $?; for i in 1 2; do continue 0; done; echo $?
# ----
a=(1 2); a[-5]=3; echo $?; echo ${a[-5]}; echo $?; ((a[-5]=2)); echo $?; unset 'a[-7]'; echo $?; x=$((a[-5])); echo $? $x
# ----
set -u; echo $1; echo no
# ----
set -u; f() { echo $1; }; (f); echo $?; x=$(f); echo $?; f; echo no
# ----
set -u; echo ${1};
# ----
set -u; x=$(echo $1) y=$2 echo a; echo no
# ----
set -u; trap 'echo T $?' EXIT ERR; echo ${a[0]}; echo no
# ----
set -u; a=(); echo "${a[@]}" ${#a[@]}; echo ${a[0]-x}; echo ${#a}; echo no
# ----
set -u; declare -A m; echo "${m[x]}"; echo no
# ----
set -u; echo $((nope + 1)); echo no
# ----
set -u; [[ $nope ]]; echo no
# ----
set -u; case $nope in x) ;; esac; echo no
# ----
set -u; for i in $nope; do :; done; echo no
# ----
bash -uc 'echo $1; echo b'; echo $?; bash -c 'trap "echo E \$? \$0" EXIT; exit 5' name; echo $?; bash -c 'set -e; trap "echo E \$?" EXIT; (exit 3); echo no'; echo $?
# ----
set -o posix; . ./nofile; echo no
# ----
set -o posix; command . ./nofile; echo $?; . ./nofile || echo no
# ----
. ./nofile; echo $?; echo 'echo in; return 3' > f; . ./f; echo $?; bash -c '. ./nofile; echo yes'; bash --posix -c '. ./nofile; echo yes'; echo $?
# ----
set -o posix; shift 5; echo $?
# ----
set -o posix
echo "${x+'a}" "${HOME+it's}" "${x:-don't}"
echo "${x-'$HOME'}" ${x-'$HOME'}
cat <<EOF
${x:-don't} ${x-'$HOME'} "${x-"a'b"}"
EOF
y="a'b'c"; echo "${y#a'b'}" "${y%'c'}" "${y/'/q}"
# ----
x=`echo a:b | sed 's/:/\
/'`; echo "$x"; x=`echo a:b | sed 's/:/\\
/'`; echo "$x"; echo `printf '<%s>' 'foo\\
bar'`; echo `printf '<%s>' "foo\
bar"`; echo `echo a \
b`; echo "`echo 'q\
r'`"
# ----
for (( i = j = k = 1; i % 9 || (j *= -1, $( ((i%9)) || printf " " >&2; echo 0), k++ <= 10); i += j )); do printf "$i"; done
# ----
typeset -i x=4+5; echo $x; x+=5; echo $x; typeset x+=4; echo $x; typeset -i x+=5; echo $x; readonly x+=4; echo $x; declare -ia a=(2 2 3); a+=1; declare -p a; a+=(4+1 5); declare -p a; a[0]+=5; declare -p a; export y=1; export y+=2; echo $y; f() { local y+=3; echo $y; local -i z=2; z+=3; echo $z; }; f
# ----
set -- ' abc' 'def ghi' 'jkl '; IFS=; printf '<%s>' $*; echo; printf '<%s>' $@; echo; printf '<%s>' "$*"; echo;  x=$*; echo "$x"; unset IFS; printf '<%s>' $*; echo; IFS=' '; printf '<%s>' ${*}; echo; IFS=:; printf '<%s>' $* ${x=$*}; echo
# ----
FOO='$$' declare -x FOO; declare -p FOO; FOO=1 export FOO; declare -p FOO; unset FOO; FOO=2 readonly FOO; declare -p FOO; BAR=1 declare BAR; declare -p BAR
# ----
n=10; echo $(( 8#$(printf "%o\n" $n) )) $(( 16#$(printf "%x\n" $n) )); echo $((16#ff)) $((36#z)) $((64#_)) $((2#101)); echo $(( 08 )); echo $((1 + 010 + 0x1F)); echo $(( 'foo' )); x=5; echo $((x++ + ++x, x--)) $((x)); echo $((1?2:3)) $((-7/2)) $((-7%3)) $((7>>1<<2)) $((~5)) $((!0))
# ----
RANDOM=42; a=$RANDOM; b=$RANDOM; RANDOM=42; [[ $RANDOM == $a && $RANDOM == $b ]] && echo same; echo $a $b; SECONDS=5000; echo $SECONDS
# ----
FUNCNEST=5; f=0; foo() { ((f++)); foo; }; foo; echo $? $f; unset FUNCNEST; FUNCNEST=3; f=0; foo; echo $f
# ----
alias foo='echo alias'; foo x; shopt -s expand_aliases
foo y
alias b='echo '; alias c='C D'; b c
f() { foo z; }; f
unalias foo; f; alias a='for i in 1 2; do echo $i'
a; done
alias e=echo; eval 'e hi'; alias -p | head -2; alias nope; echo $?; \e x 2>/dev/null; echo $?
# ----
break x; echo $?; for i in 1; do continue x; done; echo no
# ----
readonly -a c=(3); f() { readonly -a d=(4); declare -p d; }; f; declare -p c; readonly a=1; readonly a=2; echo $?; declare a=3; echo $?; unset a; echo $?; a=4; echo no
# ----
foo() { echo $(< x1); (cd /; if true; then ls; fi); { a; }; for i in 1; do b; done; case $x in a|b) c;; *) d;; esac; while x; do y; done > f 2>&1; a && b || c; ! d | e & [[ a == b && ! -f c ]]; ((x++)); cat <<EOF
text $x
EOF
time -p f; coproc g { h; }; function k() { l; }; select s in a b; do m; done; until n; do o; done; a=(1 2); x=$(y; z) w; }; declare -f foo; type foo | head -3
# ----
exec {v}>f; echo hi >&$v; exec {v}>&-; cat f; { echo a; } {w}>g; echo x >&$w; cat g; exec 5<f 6>&5 2>/dev/null; read -u 5 l; echo $l; exec 5<&-; echo a 7>h >&7; cat h; echo b 8>&1 >&8; { echo 1; echo 2 >&2; } >i 2>&1; cat i; { echo 3; } &>j; cat j; echo 4 &>>j; cat j; cat <<< x 0<f; cat < f <<< y; ls nofile 2>&1 >/dev/null | grep -c No; echo z >| f; cat f; : > f; test -s f; echo $?; echo a > f > g; cat f g; cat 0< <(echo ps); echo err >&2 2>/dev/null; >k; ls k; { exec 1>l; echo in; }; cat l >&2
# ----
trap -p; trap 'echo x' USR1 USR2; trap '' HUP; (trap -p); trap - USR1; trap; trap 2 3; trap -p INT; trap 'echo "it'"'"'s"' TERM; trap -p TERM; trap nosuch 99; echo $?; trap x NOSIG; echo $?; trap -l | head -1; f() { trap 'echo R' RETURN; }; f; f; g() { :; }; g
# ----
declare -ft func2; func2() { echo in
echo out; }; declare -ft func2; trap 'echo "[$LINENO] $BASH_COMMAND"' DEBUG
func2
trap - DEBUG
# ----
x=abc; echo ${x@A} ${x@a} ${x@Q} ${x@E} ${x@P} ${x@K}; a=(1 "b c"); echo ${a[@]@A} "|" ${a[@]@Q} "|" ${a[@]@K} "|" "${a[@]@k}"; declare -A m=([k]="v w"); echo "${m[@]@A}" "|" "${m[@]@K}"; declare -ri n=5; echo ${n@A} ${n@a}; set -- p "q r"; echo ${@@Q} "${*@Q}" ${@@A}; echo ${nope@A} "${nope@Q}"; y='\u@\h \w $x'; u='a\tb'; echo "${u@E}"; unset z; echo ${z@a}
# ----
[ 99999999999999999999 -gt 0 ]; echo $?; [ -9223372036854775808 -lt 0 ]; echo $?; [ 9223372036854775808 -gt 0 ]; echo $?
# ----
shopt -s expand_aliases
alias greet='echo hello'
>out greet; cat out
# ----
shopt expand_aliases; set -o posix; shopt expand_aliases; alias greet='echo hello'
greet; set +o posix; shopt expand_aliases
# ----
shopt -s expand_aliases; set -o posix; set +o posix; shopt expand_aliases
# ----
declare -n r='a[1]'; a[1]=x; [[ -v r ]] || echo 'not a variable'; echo $r
# ----
printf '%q\n' "$COMP_WORDBREAKS"
# ----
set -u; echo ${#unset_array[@]}; echo no
# ----
printf '%d\n' 0xfg 08 0z 1z
# ----
enable -d echo; echo $?; enable -d no_such; echo $?
