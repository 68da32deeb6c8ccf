# The language piece by piece. Each section runs in a shell of its own, in bash and here.
# ----
a="x y  z"; set -- $a; echo $#; IFS=:; b="a::b:"; set -- $b; echo $# "$*"; printf '<%s>' $b; echo
# ----
IFS=' :'; x=' a : b  c:: d '; printf '<%s>' $x; echo; set -- a b c; echo "$*" $*; IFS=; echo "$*" $*; unset IFS; echo "$*"
# ----
set -- "a b" "" c; printf '<%s>' "$@"; echo; printf '<%s>' $@; echo; printf '<%s>' "x$@y"; echo; printf '<%s>' x$@y; echo; printf '<%s>' "$*"; set --; printf '<%s>' "$@" "x$@" "$@$@"; echo
# ----
x=; printf '<%s>' $x "$x" ''$x a$x"" ; echo; y="  "; printf '<%s>' $y a$y $y"b" ; echo
# ----
x='*'; touch a b; echo $x "$x" \* '*' *; echo [ab] [!a] ?; echo "a"* 'x'*; set -f; echo *; set +f; shopt -s nullglob; echo q* done
# ----
echo {a,b}{1,2} {1..5} {5..1} {a..e} {01..10} {1..10..3} {a..z..5} a{b,c,}d {a} {a,b x{1..3}y "{a,b}" {-5..5..5} \{a,b} ${x}{a,b} {,a} a{,}b {{a,b},c}
# ----
x=abcdef; echo ${x:1} ${x:1:2} ${x: -2} ${x: -3:2} ${x:0:-1} ${x:10} "${x:3:0}" ${x:(-2)}; y=5; echo ${x:y-3:2} ${#x} ${x:$y}
# ----
x=/usr/local/lib/foo.tar.gz; echo ${x##*/} ${x%.*} ${x%%.*} ${x#*/} ${x##*.} ${x/o/0} ${x//o/0} ${x/#\/usr/U} ${x/%gz/GZ} ${x//\//_} ${x//[aeiou]} ${x/foo}
# ----
x=hello; echo ${x^} ${x^^} ${x^^[el]} ${x~} ${x~~}; y=HELLO; echo ${y,} ${y,,} ${y,,[EL]}; echo ${x@U} ${x@u} ${y@L} ${x@Q}; z=$'a\nb'; echo ${z@Q}; q="it's"; echo ${q@Q} ; e='a\tb'; echo "${e@E}"
# ----
unset u; echo ${u-def} ${u:-def} ${u+set} ${u:+set} ${u=assigned} $u; e=; echo "<${e-def}>" "<${e:-def}>" "<${e+set}>" "<${e:+set}>"; echo ${u:-"a  b"} ${nope:-a  b} "${nope:-a  b}" "${nope:-"q  r"}" "${nope:-'s'}" ${nope:-'s  t'}
# ----
a=(one two three); echo ${a[0]} ${a[@]} ${#a[@]} ${!a[@]} ${a[-1]} "${a[@]:1}" ${a[@]:0:2} ${a[@]/t/T} ${a[@]#o} ${a[*]^}; a[5]=six; echo ${!a[@]} ${#a[@]}; unset 'a[1]'; echo "${a[@]}" ${!a[*]}; a+=(seven); declare -p a; a=("${a[@]}" x); declare -p a
# ----
declare -A m=([k]=v [a b]="c d"); m[x]=1; echo ${m[k]} "${m[a b]}" ${#m[@]}; for k in $(printf '%s\n' "${!m[@]}" | sort); do echo $k; done; unset 'm[k]'; echo ${m[k]-gone}; [[ -v m[x] ]] && echo yes; m[x]+=2; echo ${m[x]}; declare -A e; echo ${#e[@]}
# ----
x=10; ((x++)); echo $x $((x+=5)) $((x<<2)) $((x**2)) $((-7/2)) $((-7%3)) $((7&3|8^1)) $((!0)) $((~5)) $((1?2:3)) $((x>5&&x<100)) $((0x1f)) $((010)) $((2#101)) $((36#zz)) $((64#_)) $((1,2,3))
# ----
echo $((9223372036854775807+1)) $((-9223372036854775808-1)) $((1<<63)) $((1<<64)) $((5%-3)) $((2**63)) $((-2**2)) $((2**3**2)) $(( (1+2)*3 )) $((10/3*3)) $((a=5,a*2)) $a
# ----
i=5; echo $((i++ + ++i)) $i $((i--)) $((--i)); a[3]=7; echo $((a[3]++)) ${a[3]} $((a[1+2]*2)); x=y; y=z; z=9; echo $((x)) $((x+1)); echo $((3>2?10:20)) $((0||1)) $((1&&0))
# ----
for ((i=0;i<3;i++)); do for ((j=0;j<3;j++)); do ((j==1)) && continue; ((i==2)) && break 2; echo $i$j; done; done; for ((;;)); do break; done; echo $i
# ----
f() { local x=1; g; echo "f:$x"; }; g() { x=2; echo "g:$x"; }; x=0; f; echo $x; h() { echo $# $1 "${@:2}" $FUNCNAME ${FUNCNAME[1]}; return 3; }; h a b c; echo $?
# ----
f() { return 5; }; f || echo "rc=$?"; if f; then echo t; else echo "else $?"; fi; ! f; echo $?; f && echo no; echo $?; (exit 4); echo $?; { f; }; echo $?
# ----
cat <<A; cat <<'B'; cat <<-C
x is $x $((1+1)) $(echo sub) \$x `echo bq`
A
$x \$y
B
	tabbed
	  more
	C
# ----
cat <<< "here $((2+3))"; read a b <<< "one two three"; echo "$a|$b"; while read -r l; do echo "[$l]"; done <<EOF
line 1
  line 2  
line\3
EOF
# ----
case foo.txt in *.txt) echo txt;; *) echo other;; esac; case x in a|x) echo ax;;& x) echo again;; esac; case y in y) echo fall;& z) echo through;; esac; case "" in "") echo empty;; esac; case a in [[:alpha:]]) echo alpha;; esac; case '*' in \*) echo star;; esac
# ----
[[ foo == f* ]] && echo 1; [[ foo == "f*" ]] || echo 2; [[ abc =~ ^a(b)(c)$ ]] && echo "${BASH_REMATCH[@]}"; [[ a < b && ! a > b ]] && echo 3; [[ -z "" && -n x ]] && echo 4; [[ 5 -gt 3 ]] && echo 5; x=5; [[ x -eq 5 ]] && echo 6; [[ ( a == b || c == c ) ]] && echo 7; [[ -d / ]] && echo 8; p='^[0-9]+$'; [[ 123 =~ $p ]] && echo 9; [[ "a b" =~ a\ b ]] && echo 10
# ----
set -e; false || true; if false; then :; fi; ! true; echo ok; f() { false; echo notreached; }; f; echo no
# ----
set -e; f() { false; echo reached; }; f && echo x; f || echo y; (false; echo z) || echo w; echo $(false; echo sub); x=$(false); echo never
# ----
set -u; echo ${x-ok}; echo "$@"; a=(); echo "${a[@]}"; echo $nope; echo after
# ----
set -o pipefail; false | true; echo $?; true | false | true; echo $? ${PIPESTATUS[@]}; set +o pipefail; false | true; echo $? "${PIPESTATUS[*]}"; ! false | true; echo $?
# ----
trap 'echo bye' EXIT; trap 'echo err $?' ERR; false; (false); true; f() { false; }; f; echo end; exit 3
# ----
trap 'echo usr1' USR1; kill -USR1 $$; echo after; trap - USR1; trap; trap '' INT; trap -p INT; (trap -p; trap 'echo sub' EXIT; echo in); kill -l 9; kill -l TERM
# ----
x=1; (x=2; echo $x); echo $x; { x=3; }; echo $x; x=4 true; echo $x; x=5 eval 'echo $x'; echo $x; echo a | { read y; echo "y=$y"; }; echo "[$y]"; shopt -s lastpipe; echo b | read y; echo "[$y]"
# ----
f() { echo out; echo err >&2; }; f 2>&1 | sort; f >/dev/null; f 2>/dev/null; { f; } > o 2> e; cat o e; f &> both; cat both; echo more >> both; wc -l < both; exec 3> three; echo hi >&3; exec 3>&-; cat three; exec 4< three; read x <&4; echo $x
# ----
echo a > f1; { echo x; cat f1; echo y; } | { while read l; do echo "l=$l"; done; }; diff <(echo a; echo b) <(echo a; echo c); cat <(echo 1) <(echo 2); while read l; do echo "p=$l"; done < <(seq 3)
# ----
printf '%5d|%-5d|%05d|%+d|%x|%X|%o|%#x|%e|%.2f|%g\n' 42 42 42 42 255 255 8 255 1234.5 3.14159 0.0001; printf '%s-%s\n' a b c; printf '%q\n' "a b" "it's" $'a\nb' ''; printf '%b' 'a\tb\n'; printf '%c%c\n' abc def; printf '%10s|%-10s|%.2s\n' hi hi hello; printf '%%\n'; printf '%d\n' 0x1f 010 "'A"; printf '%*d\n' 5 42; printf -v v '%03d' 7; echo $v
# ----
printf '%s\n' "a\nb"; echo -e 'a\tb\x41\u00e9\0101'; echo -n x; echo -E 'a\tb'; echo -- x; echo -nq; echo 'a\nb'; printf 'a\n%s' ; printf '\n%d %s\n' abc def; echo $?
# ----
declare -i n=5+3; n+=2; echo $n; declare -r r=1; r=2; echo "r $?"
# ----
declare -u up=hello; declare -l lo=HELLO; echo $up $lo; up=x; echo $up; declare -x ex=1; env | grep ^ex=; export -n ex; env | grep ^ex=; declare -p up lo ex; readonly ro=1; readonly -p | grep ro=
# ----
declare -n ref=target; target=5; echo $ref; ref=6; echo $target; f() { local -n r=$1; r=changed; }; v=orig; f v; echo $v; declare -n arr=list; list=(1 2 3); echo ${arr[1]} ${#arr[@]}; arr+=(4); echo ${list[@]}; echo ${!ref}
# ----
f() { echo "$1"; if (( $1 > 0 )); then f $(( $1 - 1 )); fi; }; f 3; fact() { (( $1 <= 1 )) && { echo 1; return; }; local p=$(fact $(( $1 - 1 ))); echo $(( $1 * p )); }; fact 10; fib() { if (($1<2)); then echo $1; else echo $(( $(fib $(($1-1))) + $(fib $(($1-2))) )); fi; }; fib 8
# ----
while getopts "ab:c" o -a -b val -c rest; do echo "$o $OPTARG"; done; echo $OPTIND; OPTIND=1; set -- -xyz -q; while getopts ":xyq:" o; do echo "$o:$OPTARG"; done; echo $OPTIND
# ----
eval 'x=5; echo $x'; eval "echo 'a  b'"; cmd="echo hi there"; $cmd; c='echo "a b"'; $c; eval $c; source /dev/stdin <<< 'echo sourced $1' ; echo 'echo args $@; return 7' > s.sh; . ./s.sh 1 2; echo $?
# ----
type -t echo if ls f nothing; f() { :; }; type -t f; type f; command -v echo; command -v nothing; echo $?; type cd; hash; alias x=y; alias; unalias x; type -a echo
# ----
f() 
{ 
  if [ "$1" = a ]; then echo A; elif [[ $1 == b ]]; then echo B; else echo C; fi
  for i in 1 2; do echo $i; done; while read x; do echo $x; done < /dev/null
  case $1 in a|b) echo ab;; *) echo def;; esac
  { echo g; } > /dev/null; (echo sub); x=$(echo y) && echo ok || echo no; a=(1 2); ((i++)); ! true; echo a | cat | cat &
  until false; do break; done; select z in a; do break; done
  cat <<E
here $x
here $x
E
  for ((i=0;i<2;i++)); do :; done
}
declare -f f
# ----
echo $0 $# $$ > /dev/null; echo ${#} $-; set -- a b c; shift; echo $1 $#; set -x; echo trace "a b" 'c'; x=5; set +x; echo $LINENO
# ----
pushd /tmp > /dev/null; pushd /usr >/dev/null; dirs; popd; cd /; cd - ; cd /nonexistent; echo $?; pwd; cd /usr/bin/..; pwd; echo ~ ~/x $HOME
# ----
mapfile -t lines < <(printf 'a\nb\nc\n'); echo ${#lines[@]} ${lines[1]}; mapfile -n 2 -s 1 x < <(seq 5); echo ${x[@]}; readarray -d : y <<< "a:b:c"; declare -p y; read -a arr <<< "1 2 3"; echo ${arr[2]}; read -n 3 z <<< abcdef; echo $z; read -d : w <<< "foo:bar"; echo $w; IFS=, read a b c <<< "1,2,3,4"; echo "$a|$b|$c"; read -r -p prompt q <<< x; echo $q; read x < /dev/null; echo $?
# ----
x=$(printf 'a\n\n\n'); echo "[$x]"; echo "$(echo "nested $(echo "deep")")"; echo `echo \`echo bq\``; y=$(cat <<E
heredoc in sub
E
); echo "$y"; z=$(case a in a) echo case;; esac); echo $z; echo $(( $(echo 3) + 4 )); echo "$(echo 'single "dq"')"
# ----
sleep 0.1 & wait $!; echo $?; (exit 3) & wait $!; echo $?; false & p=$!; wait $p; echo $?; { sleep 0.05; echo bg; } & echo fg; wait; sleep 5 & kill $!; wait $! 2>/dev/null; echo $?; jobs; wait -n; echo $?
# ----
coproc cat; echo hello >&${COPROC[1]}; read -r x <&${COPROC[0]}; echo $x
# ----
coproc P { while read l; do echo "got $l"; done; }; echo a >&${P[1]}; read x <&${P[0]}; echo $x; echo b >&${P[1]}; read x <&${P[0]}; echo $x; exec {P[1]}>&-; wait; echo done
# ----
shopt -s extglob; touch a.txt b.txt c.log; echo !(*.txt) @(a|b).txt +([a-c]).log ?(x)a.txt; x=aaabbb; echo ${x##+(a)} ${x%%+(b)} ${x/+(a)/X}; case foobar in foo@(bar|baz)) echo m;; esac; shopt -s globstar; mkdir -p d/e; touch d/e/f.txt; echo **/*.txt **/; shopt -s dotglob; touch .h; echo *
# ----
echo "$(( 08 ))"; echo after
# ----
x=5; echo "${x:?}" ; unset y; (echo "${y:?custom msg}"); echo $?; ${x+echo} set; echo ${y:=def}; echo $y; echo "${#}" "${#x}" "${x#5}" ; set -- p q; echo "${1}" "${10}" "${@: -1}" "${@:1:1}" "${!#}" ${@^}
# ----
v=name; name=val; echo ${!v}; arr=(x y); r='arr[1]'; echo ${!r}; r='arr[@]'; echo "${!r}"; echo ${!n*} "${!BASH_V@}" ; i=1; echo ${!i}; 
# ----
a=1 b=2; echo $a$b; a=$b c=$a; echo $c; export A=1; A=2 bash -c 'echo $A'; echo $A; bash -c 'echo $0 $1' x y; echo 'echo script $1 $0; exit 4' > s.sh; chmod +x s.sh; ./s.sh arg; echo $?; bash s.sh q; sh -c 'echo sh'; bash <<< 'echo stdin'; echo 'echo piped $x' | x=5 bash
# ----
nosuchcmd; echo $?; ./nofile; echo $?; touch nx; ./nx; echo $?; /; echo $?; command_not_found_handle() { echo "nf $1"; return 9; }; nosuch a; echo $?
# ----
time -p true 2>/dev/null; ! true; echo $?; true && false || echo or; true || echo no && echo and; { echo a; echo b; } | tac 2>/dev/null || true; if ! false; then echo neg; fi; while ! true; do :; done; until true; do :; done; echo $?
# ----
f() { local a=1 b; local -a arr=(1 2); local -A m=([k]=v); echo $a ${b-unset} ${arr[1]} ${m[k]}; unset a; echo ${a-gone}; }; a=outer; f; echo $a; g() { declare x=1; declare -g y=2; }; g; echo ${x-none} $y
# ----
echo {1..3}{a,b} > /dev/null; echo "${BASH_VERSINFO[0]}" ${BASH_VERSION%%.*}; echo $((RANDOM>=0)) ; RANDOM=42; echo $RANDOM $RANDOM; echo ${#RANDOM} > /dev/null; echo $SECONDS; echo $BASH_SUBSHELL; (echo $BASH_SUBSHELL); echo ${FUNCNAME-nofunc}; echo ${PIPESTATUS[0]}; echo $UID $PPID > /dev/null; echo $SHLVL >/dev/null; echo $_
# ----
trap 'echo "debug: $BASH_COMMAND"' DEBUG; x=1; echo $x; [[ a == a ]]; ((1)); trap - DEBUG; f() { trap 'echo ret' RETURN; echo in; }; f; f2() { :; }; f2
# ----
set -- 1 2 3; for x; do echo $x; done; for x in; do echo never; done; for x in "$@" end; do echo -n "$x "; done; echo; i=0; while :; do ((++i > 3)) && break; [ $i = 2 ] && continue; echo $i; done; until ((i<=0)); do ((i--)); done; echo $i
# ----
echo a b c | while read x y; do echo "$y $x"; done; printf 'a b\nc d\n' | while IFS= read -r l; do echo "<$l>"; done; printf 'no newline' | while read l || [ -n "$l" ]; do echo "got $l"; done; x=0; while read n; do ((x+=n)); done < <(seq 10); echo $x
# ----
select x in a b; do echo "chose $x $REPLY"; break; done <<< 2; PS3='? '; select y in one two three; do echo $y; [[ $y ]] && break; done <<< $'9\n3'
# ----
x="a'b\"c"; echo "$x" '$x' "\$x" "\\" '\\' "\a" \a $'\x41\t|\u263a|\101|\cA|' | cat -v; echo "a
b" 'c
d' e\
f
# ----
let x=5 y=x*2; echo $x $y; let "z = 1 + 2"; echo $z; let 0; echo $?; ((0)); echo $?; (( x = 3, y = x + 1 )); echo $y; echo $[1+2]
# ----
umask; umask 077; touch p; stat -c %a p; umask -S; umask u=rwx,g=rx,o=; umask; ulimit -n > /dev/null; times > /dev/null; echo ok
# ----
test -f /etc/passwd && echo f; [ -d /tmp -a -n x ] && echo and; [ a = b -o c = c ] && echo or; [ ! -e /nope ] && echo ne; [ 1 -lt 2 ] && echo lt; [ "" ]; echo $?; [ x ]; echo $?; test; echo $?; [ a = ]; echo $?; [ 1 -eq a ]; echo $?; [ -z ]; echo $?; [ '(' x ')' ]; echo $?; [ a ; echo $?
# ----
shopt -s expand_aliases
alias left='(' right=')'
left echo hi; right
alias f='f2() { echo f2; }'
f
f2
alias q='f3() {'
q echo f3; }
f3
# ----
shopt -s expand_aliases
alias for_='for' t='time'
for_ i in a b; do echo $i; done
alias v='x=1 ' y='echo y'
v y; echo "<$x>"
alias cmt='# comment'
cmt abc
echo ok
alias nl='echo one
echo two'
nl three
# ----
select x in a b c; do break; done <<< 1; select z in {1..12}; do break; done <<< 1; COLUMNS=20; select z in aaaa bbbb cccc dddd; do break; done <<< 1; COLUMNS=10; select z in aaaaaaaaaaaaaa b; do break; done <<< 1; COLUMNS=0; select z in a b; do break; done <<< 1; COLUMNS=x; select z in {1..100}; do break; done <<< 1; unset COLUMNS; select z in {a..z}{1..3}; do break; done <<< 1; select z in one; do break; done <<< 1; select x in 'long item number one' short 'medium one' x y z 'another' {1..20}; do break; done <<< 2
