# printf, getopts, traces and functions written back.
# ----
printf '%b|%b|%b\n' '\"a\"' "\'b\'" 'x\?'; printf '\"a\" \? %s\n' q; printf '%b\n' '\x' '\x4g' '\u41' '\101' '\0101' 'a\cb' z; printf '\x\n'; printf 'abc%ndef%n\n' n m; echo $n $m
# ----
printf '%s\n' a b c; printf '%s-%s\n' a b c; printf '%d %i %u %o %x %X %#x %#o\n' 10 11 12 13 14 15 16 17; printf '%5d|%-5d|%05d|%+d|% d\n' 1 2 3 4 5; printf '%.3d|%8.3d|%-8.3d|\n' 1 2 3; printf '%c%c%c\n' abc def; printf '%5s|%-5s|%.2s|%5.1s|\n' ab cd efg hij; printf '%*d|%-*d|%.*s\n' 5 1 5 2 2 abc
# ----
printf '%f %.2f %e %g %G %a\n' 1.5 2.345 12345.678 0.0001 1e10 1; printf '%d\n' 0x1f 010 "'a" '"b' ; printf '%d\n' abc; echo $?; printf '%d\n' 5x; echo $?; printf '%d\n' ''; printf '%d\n'; printf '%s|\n'; printf '%q %q %q\n' 'a b' "it's" $'x\ny'; printf '%q\n' ''; printf '%Q\n' 'a b'
# ----
printf '%z\n'; echo $?; printf '%'; echo $?; printf '%5'; echo $?; printf -v x '%s' hi; echo $x; printf -v 'a[3]' '%d' 5; declare -p a; printf -- '-%s\n' x; printf '%%\n'; printf '%s %s\n' one; printf 'plain\n' extra args; printf; echo $?; printf -x; echo $?; printf -v 1x y; echo $?
# ----
TZ=UTC printf '%(%Y-%m-%d %H:%M:%S)T\n' 0; TZ=America/New_York; export TZ; printf '%(%F %T %Z)T|%(%s)T\n' 86400 5; printf '%20(%F)T|%-20(%F)T|%.4(%F)T|\n' 0 0 0; printf '%(a (b) %Y)T\n' 0
# ----
printf '%s\n' "$(printf '%05.1f' 3.14159)" "$(printf '%+.2e' -0.5)" "$(printf '%x' -1)" "$(printf '%u' -1)" "$(printf '%d' 9223372036854775808 2>&1)"; printf "%'d\n" 1234567; printf '%ld %lld %hd\n' 1 2 3; printf '%-10s|%10s|\n' é ñ; printf '%.1s|\n' éa; printf '%s' a b c; echo; printf '%3$s %1$s\n' a b c; echo $?
# ----
echo -e 'a\tb\\c\x41\u00e9\0101\e[0m'; echo -E 'a\tb'; echo -n x; echo -ne 'y\n'; echo -- a; echo -nx; echo - -n; echo -e 'a\cb' c; echo; shopt -s xpg_echo; echo 'a\tb'; echo -e '\101 \x \"'
# ----
f() { typeset OPTIND=1 opt; while getopts ":abcxyz" opt; do echo opt: $opt; [[ $opt = y ]] && f -abc; done; }; f -xyz
# ----
set -- -a -b val -c -- rest; while getopts "ab:c" o; do echo "$o ${OPTARG-none} $OPTIND"; done; shift $((OPTIND-1)); echo "$@"; OPTIND=1; while getopts ":x:y" o -x -y -z -x; do echo "$o ${OPTARG-none}"; done; OPTIND=1; getopts a o -b; echo $? $o; getopts a: o -a; echo $? $o; OPTIND=1; OPTERR=0; getopts a o -z; echo $o; getopts ab o-x -a; echo $?; OPTIND=1; getopts 'a:' o -afoo; echo $o $OPTARG; getopts a o; echo $? $o $OPTIND
# ----
trap 'echo x' INT USR1; trap -p; trap; trap -p NOSIG; echo $?; trap - INT; trap; trap '' TERM; trap -p TERM; trap foo; echo $?; trap 'a' NOSIG; echo $?; trap -l | head -2; trap 2 USR1; trap; trap "echo 'q'" EXIT; trap -p EXIT; trap - EXIT
# ----
declare -fr nofunc; f() { :; }; declare -F; declare -F f; readonly -f f; declare -F; f() { :; }; unset -f f; echo $?; declare -f +r f; g() { echo g; }; export -f g; declare -Fx; declare -F g; declare -f g; export -fn g; declare -F; unset -f -v g; declare -f h; echo $?; declare -f x='()'; typeset -f g
# ----
set -u; set -- 1; (echo $7); (echo ${7}); (echo ${#7}); (echo ${a}); (echo "$b"); (echo ${a:1}); (echo ${a/x/y}); (echo ${!a}); (echo ${a[0]}); (echo $((a))); (echo $((a+1))); (x=$a); (: ${a?}); (: ${a:?msg}); (echo ${a^^}); (echo ${a#x}); echo "$@" "$*" z; shift; echo "$@" "$*"; (echo $!) ; echo $-
# ----
f() { for i in 1 2; do echo $i; done; (echo a); { echo b; }; while :; do break; done; if x; then y; elif z; then w; else q; fi; case $1 in a|b) echo;; *) :;& c) x;;& esac; [[ a == b && ! -n c ]]; ((x++)); }
type f
# ----
f() { for ((i=0; i<3; i++ )); do :; done; for ((;;)); do :; done; select x in a; do :; done; until false; do :; done; for x; do :; done; for x in; do :; done; function g { :; }; h() ( : ); }
declare -f f
# ----
f() { cat <<EOF > x
hi $a
EOF
cat <<-'E' | tr a b
	tab
	E
}
declare -f f
# ----
f() { v=$'\001' w=$'a\nb' x="q"'z'; echo $'it\'s' $"loc"; exec {v}>&- 3<&0 4>&1- <&5- >|x >>y <>z &>w &>>v; a=(1 "2 3" [4]=5) b+=x c[1]=y; declare -a d=(1); echo a{b,c} ~/x *.c; return 3; }
declare -f f
# ----
f() { (echo a; echo b) > x 2>&1; { echo c; } < y; while read l; do echo; done < z; if a; then b; fi | c; }
declare -f f
# ----
f() ( echo sub )
g() for i in 1; do echo; done
h() if a; then b; fi
i() [[ a ]]
j() ((1))
declare -f f g h i j
# ----
f() { if a; then b; c; fi; if a; b; then c; fi; if a && b; then c; else d; e; fi; while a; b; do c; done; { a; } & ( b ) & c; }
declare -f f
# ----
f() { case x in (a) b;; esac; case "$y" in
 c | "d e") f
 ;;
 esac; }
declare -f f
# ----
set -x; for ((i=0; i<2; i++ )); do :; done; ((x=1 )); [[ a == b ]]; [[ -n $x && $x -eq 1 || ! a ]]; case $x in 1) :;; esac; for i in a "b c"; do echo $i; done; a=1 b="x y"; c=(1 '2 3'); c+=(4); d[2]=q; echo "$(echo in)" | cat; f() { local z=1; echo $z; }; f; x=5 echo hi; if true; then :; fi; while false; do :; done; select q in a; do break; done <<< 1; { echo g; }; (echo s); eval 'echo e'; : ${v:=def}; echo '' "a'b" $'t\tt' 'a$b' a=b ~; declare -i n=5; local_=; unset n; y=$((1+2)); echo > /dev/null; exec 3>&1; test -n x; [ a = a ]; let k=1; export E=1; readonly R=2; declare -a arr=(1 2); declare -A as=([k]=v); trap 'echo t' EXIT; set +x
# ----
printf '%f\n' "0.5" "-4.383" "0.2530" "5.49409" "1.795267" "3.9" "1e10" "2.5" "-8.22" "0x1p3" "2.45803" "-4.383"
printf '%.3f\n' "3.71914" "0.671" "5.95" "5.5" "-0.929" "-4.104" "-1.17863" "1.3" "-6.48" "5.49409" "3.0" "3.56"
printf '%.3e\n' "-3.9467" "-0.3468" "-inf" "2.5" "1.7228" "-9.420" "-8.68" "-1.3" "-7.38856" "-5.91267" "+3" "9.8"
printf '%.3g\n' "-1.8151" "12e1x" "+3" "1e400" "nan" "-5" "-4.70283" "-3.9467" "2.9938" "1e+" "1.795267" "-1.7"
printf '%#.0f\n' "-9.964503" "3.72" "-2" "-3.7" "-1.1" "0x1p3" "3.0" "-7.748793" "-1.830620" "-9.964503" "-3.48" "0x"
printf '%.2a\n' "0x1p3" "-4.383" "-9.893737" "-3.3" "5" "6.370" "-1.8151" "1.7228" "0.94" "0.00001234" "3.9" "8.84901"
printf '%10.2f|\n' "-4.99582" "-1.1" "1" "2.53612" "-9.36347" "-7.38856" "-0.3468" "3.9" "2.53612" "5.19" "-4" "4.32"
printf '%+.1f\n' "5.3" "8.98" "-1.830620" "1e+" "0.90" "-3.9728" "-3.7" "0x1.8p-2" "-1.17863" "-5.8303" "-0.37563" "0x"
printf '%A\n' "7.036" "-1.1" "8.81952" "0.8752" "7.369" "-3.11" "5.944534" "1.795267" "-5.01339" "-1.17863" "-5" "0x1p3"
printf '%.0a\n' "-2.6763" "1.3" "5." "2.53612" "7.369" "-5" "7.369" "7.4" "2" "7.0451" "-7.2247" "12e1x"
printf '%f %e %g %a %.3f\n' "2.675" "2.675" "2.675" "2.675" "2.675"
printf '%f %e %g %a %.3f\n' "2.5" "2.5" "2.5" "2.5" "2.5"
printf '%f %e %g %a %.3f\n' "1e-5" "1e-5" "1e-5" "1e-5" "1e-5"
printf '%f %e %g %a %.3f\n' "1e300" "1e300" "1e300" "1e300" "1e300"
printf '%f %e %g %a %.3f\n' "1e4940" "1e4940" "1e4940" "1e4940" "1e4940"
printf '%f %e %g %a %.3f\n' "nan" "nan" "nan" "nan" "nan"
printf '%f %e %g %a %.3f\n' "0x1p3" "0x1p3" "0x1p3" "0x1p3" "0x1p3"
printf '%f %e %g %a %.3f\n' "5." "5." "5." "5." "5."
printf '%f %e %g %a %.3f\n' "-.5e3" "-.5e3" "-.5e3" "-.5e3" "-.5e3"
printf '%f %e %g %a %.3f\n' "'a" "'a" "'a" "'a" "'a"
printf '%f %e %g %a %.3f\n' "+3" "+3" "+3" "+3" "+3"
# ----
printf '%(abc' 1; echo " $?"; printf '%(%Y)Tx%(' 0; echo $?; printf '%(abc)d\n' 3; echo $?
# ----
TIMEFORMAT='%Q'; time :; TIMEFORMAT='%3U %1S %P %% %l'; { time :; } 2>&1 | sed 's/[0-9]/N/g'; TIMEFORMAT='%R %lU'; { time :; } 2>&1 | sed 's/[0-9]/N/g'
# ----
PROMPT_DIRTRIM=1; cd /usr/bin; w='\w \W'; echo "${w@P}"; PROMPT_DIRTRIM=2; cd /usr/share/doc; echo "${w@P}"; HOME=/usr; echo "${w@P}"; unset PROMPT_DIRTRIM; echo "${w@P}"; shopt -u promptvars; v='$HOME'; echo "${v@P}"
