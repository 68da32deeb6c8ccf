# Scripts as people write them: a build, a log report, a release, an option parser, algorithms.
# ----
#!/bin/bash
# build script
set -euo pipefail
readonly ROOT=$PWD
declare -a SOURCES=() ; declare -A FLAGS=([debug]="-g -O0" [release]="-O2")
log() { local level=$1; shift; printf '[%-5s] %s\n' "$level" "$*"; }
die() { log ERROR "$@" >&2; exit 1; }
mode=${1:-release}
[[ -n ${FLAGS[$mode]+x} ]] || die "unknown mode $mode"
mkdir -p src build
for n in main util io; do echo "int $n;" > "src/$n.c"; done
while IFS= read -r -d '' f; do SOURCES+=("$f"); done < <(find src -name '*.c' -print0 | sort -z)
log INFO "mode=$mode flags=${FLAGS[$mode]} files=${#SOURCES[@]}"
for src in "${SOURCES[@]}"; do
  obj=build/$(basename "${src%.c}").o
  if [[ ! -e $obj || $src -nt $obj ]]; then
    sed "s/int/obj/" "$src" > "$obj"
    log BUILD "$src -> $obj"
  fi
done
total=$(cat build/*.o | wc -l)
log INFO "lines: $total"
(cd build && ls)
trap 'log INFO "done in ${SECONDS:+some} s"' EXIT
# ----
cat > access.log <<'L'
10.0.0.1 - - [01/Jan] "GET /a HTTP/1.1" 200 123
10.0.0.2 - - [01/Jan] "GET /b HTTP/1.1" 404 50
10.0.0.1 - - [02/Jan] "POST /a HTTP/1.1" 500 10
10.0.0.3 - - [02/Jan] "GET /c HTTP/1.1" 200 999
L
declare -A hits codes; bytes=0
while read -r ip _ _ day method path proto code size; do
  (( ++hits[$ip] )); (( codes[$code] += 1 )); (( bytes += size ))
done < access.log
for ip in "${!hits[@]}"; do printf '%s %d\n' "$ip" "${hits[$ip]}"; done | sort -k2,2nr -k1,1
for c in "${!codes[@]}"; do echo "$c: ${codes[$c]}"; done | sort
echo "bytes=$bytes"
awk '{c[$9]++} END {for (k in c) print k, c[k]}' access.log | sort
grep -c ' 200 ' access.log; cut -d' ' -f1 access.log | sort | uniq -c | sort -rn | head -1 | sed 's/^ *//'
# ----
version=1.2.3
bump() { local v=$1 part=$2 IFS=.; set -- $v; case $part in major) echo "$(( $1 + 1 )).0.0";; minor) echo "$1.$(( $2 + 1 )).0";; patch) echo "$1.$2.$(( $3 + 1 ))";; *) return 1;; esac; }
for p in major minor patch bogus; do if new=$(bump $version $p); then echo "$p: $new"; else echo "bad $p ($?)"; fi; done
notes=$(cat <<-MD
	# Release $version
	- item $(date -d @0 -u +%Y)
MD
)
echo "$notes" | tee NOTES.md | head -1; [[ $version =~ ^([0-9]+)\.([0-9]+)\.([0-9]+)$ ]] && echo "maj=${BASH_REMATCH[1]}"; IFS=. read -r maj min pat <<< "$version"; echo $maj-$min-$pat
cmp_ver() { local IFS=. i; local -a a=($1) b=($2); for ((i=0;i<3;i++)); do (( ${a[i]:-0} > ${b[i]:-0} )) && { echo gt; return; }; (( ${a[i]:-0} < ${b[i]:-0} )) && { echo lt; return; }; done; echo eq; }
cmp_ver 1.2.3 1.10; cmp_ver 2.0 2.0.0; cmp_ver 3 2.9.9
# ----
parse() {
  local OPTIND=1 opt; verbose=0 files=() out=
  while (( $# )); do
    case $1 in
      -v|--verbose) verbose=$((verbose+1)); shift;;
      -o|--output) out=$2; shift 2;;
      --output=*) out=${1#*=}; shift;;
      --) shift; files+=("$@"); break;;
      -*) echo "unknown option: $1" >&2; return 2;;
      *) files+=("$1"); shift;;
    esac
  done
  printf 'v=%d out=%s files=%s n=%d\n' $verbose "${out:-none}" "${files[*]:-}" ${#files[@]}
}
parse -v --verbose -o x a b; parse --output=y -- -z "q r"; parse --bad; echo $?
# ----
queue=(a b c); while ((${#queue[@]})); do item=${queue[0]}; queue=("${queue[@]:1}"); echo "item $item"; [[ $item == a ]] && queue+=(d); done
matrix=("1 2 3" "4 5 6"); for row in "${matrix[@]}"; do for cell in $row; do printf '%3d' $((cell*cell)); done; echo; done
memo=(); fib() { local n=$1; if [[ -n ${memo[n]-} ]]; then r=${memo[n]}; elif ((n<2)); then r=$n; else fib $((n-1)); local a=$r; fib $((n-2)); r=$((a+r)); fi; memo[n]=$r; }; fib 50; echo $r
str=racecar; rev=$(echo $str | rev); [[ $str == "$rev" ]] && echo palindrome; hex=$(printf '%x' 255); dec=$((16#$hex)); echo $hex $dec; bin=; n=10; while ((n)); do bin=$((n%2))$bin; ((n/=2)); done; echo $bin
gcd() { local a=$1 b=$2; while ((b)); do local t=$((a%b)); a=$b b=$t; done; echo $a; }; gcd 48 18; sieve() { local -a p; local i j; for ((i=2;i<=$1;i++)); do p[i]=1; done; for ((i=2;i*i<=$1;i++)); do ((p[i])) && for ((j=i*i;j<=$1;j+=i)); do p[j]=0; done; done; for i in "${!p[@]}"; do ((p[i])) && printf '%d ' $i; done; echo; }; sieve 30
caesar() { local s=$1 k=$2 o= c i; for ((i=0;i<${#s};i++)); do c=${s:i:1}; case $c in [a-z]) printf -v c "\\$(printf %o $(( ($(printf %d "'$c") - 97 + k) % 26 + 97 )))";; esac; o+=$c; done; echo "$o"; }; caesar "hello, world" 3
# ----
tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT; echo data > "$tmp/a"; cp "$tmp/a" "$tmp/b"; diff "$tmp/a" "$tmp/b" && echo same; mv "$tmp/b" "$tmp/c"; [ -f "$tmp/c" ] && echo moved; ls "$tmp" | tr '\n' ' '; echo; ln -s a "$tmp/l"; readlink "$tmp/l"; [ -L "$tmp/l" ] && echo link; chmod 000 "$tmp/c"; stat -c %a "$tmp/c"; wc -c < "$tmp/a"; cat "$tmp"/{a,a}; basename "$tmp/a" .x; dirname /a/b/c; touch "$tmp/x y"; for f in "$tmp"/*; do echo "${f##*/}"; done
# ----
seq 5 | { read -r a; echo first $a; while read -r b; do printf '%s,' $b; done; echo; }; echo one two | (read x y; echo $y $x); { echo c; echo a; echo b; } | sort | { mapfile -t l; echo "${l[@]}"; }; x=0; seq 3 | while read -r i; do ((x+=i)); done; echo $x; false | true; echo "${PIPESTATUS[@]}"; (exit 3) | (exit 4); echo "${PIPESTATUS[*]}"; echo a | tee f1 | tr a b > f2; cat f1 f2; { sleep 0.01; echo slow; } | cat; echo x |& cat; ls nofile |& grep -c 'No such'; : | cat | cat; echo | wc -l; printf 'a\nb\n' | xargs -I{} echo "<{}>"; echo 'echo hi' | bash; echo 'read x; echo "got $x"' > s.sh; echo input | bash s.sh; time -p : 2>/dev/null; ! echo neg | grep -q pos && echo negated
# ----
export A=1; env | grep '^A='; A=2 env | grep '^A='; env B=3 sh -c 'echo $B'; unset A; env | grep -c '^A='; bash -c 'echo "$0 $@"' zero one two; bash -c 'exit 7'; echo $?;  f() { echo exported; }; export -f f; bash -c f; bash -euc 'echo a; false; echo b'; echo $?; echo 'echo $1-$#' > sc; bash sc p q; chmod +x sc; ./sc r; (export Z=9; bash -c 'echo $Z'); echo ${Z-none}; bash -s x y <<< 'echo $2'; bash -c 'f() { return 3; }; f'; echo $?; $(which bash) -c 'echo w'; /bin/sh -c 'echo s'; command bash -c 'echo cb'; exec bash -c 'echo replaced'; echo never
# ----
declare -p nope 2>&1; echo ${nope?} 2>&1
# ----
cat <<'E' > lib.sh
greet() { echo "hello $1 from ${BASH_SOURCE[0]##*/}"; }
LIBVAR=loaded
return 5
echo never
E
source ./lib.sh; echo $? $LIBVAR; greet bob; . lib.sh arg1; set -- outer; cat > l2.sh <<< 'echo "args: $@"; set -- changed'; . ./l2.sh in1 in2; echo $1; . ./l2.sh; echo $1; cat > m.sh <<'E'
main() { echo "main ${FUNCNAME[0]} ${BASH_LINENO[0]}"; caller 0; }
[[ ${BASH_SOURCE[0]} == "$0" ]] && main "$@"
echo "$0 ${BASH_SOURCE[0]} $LINENO"
E
bash m.sh; source ./m.sh | sed 's/^[^ ]*bash /bash /'

# ----
# Commands that start others find them without a PATH.
env -i A=1 bash -c 'echo $A'
env -i sort <<< $'b\na'
env -u PATH printf '%s\n' x
env -i LC_ALL=C sed s/x/y/ <<< x
echo 'a b' | env -i xargs -n1 echo
# ----
#!/bin/bash
# option parser
set -euo pipefail
usage() { cat <<EOF
Usage: ${0##*/} [-v] [-o FILE] [--name=NAME] ARG...
  -v   verbose
EOF
}
verbose=0 out= name=
args=()
while (($#)); do
  case $1 in
    -v|--verbose) ((verbose+=1)) ;;
    -o) out=${2:?-o needs a value}; shift ;;
    --name=*) name=${1#*=} ;;
    --) shift; args+=("$@"); break ;;
    -*) echo "unknown option $1" >&2; usage >&2; exit 64 ;;
    *) args+=("$1") ;;
  esac
  shift
done
printf '%s=%q\n' verbose "$verbose" out "$out" name "$name"
printf 'arg: %q\n' "${args[@]:-none}"
usage
set -- -v -o
while getopts ':vo:' opt; do case $opt in v) echo V;; o) echo "O $OPTARG";; :) echo "missing $OPTARG";; \?) echo "bad $OPTARG";; esac; done
echo $OPTIND
# ----
#!/bin/bash
# config reader
declare -A cfg
cat > app.ini <<'INI'
; comment
[server]
host = example.org
port=8080   # trailing
[paths]
root = "/var/www/my site"
empty =
INI
section=
while IFS= read -r line || [[ -n $line ]]; do
  line=${line%%[;#]*}
  line=${line#"${line%%[![:space:]]*}"}; line=${line%"${line##*[![:space:]]}"}
  [[ -z $line ]] && continue
  if [[ $line =~ ^\[([^]]+)\]$ ]]; then section=${BASH_REMATCH[1]}
  elif [[ $line =~ ^([A-Za-z_]+)[[:space:]]*=[[:space:]]*(.*)$ ]]; then
    v=${BASH_REMATCH[2]}; v=${v#\"}; v=${v%\"}
    cfg[$section.${BASH_REMATCH[1]}]=$v
  else echo "bad line: $line"; fi
done < app.ini
for k in "${!cfg[@]}"; do printf '%-14s => [%s]\n' "$k" "${cfg[$k]}"; done | sort
[[ -v cfg[server.host] ]] && echo has; [[ -v cfg[nope] ]] || echo hasnt
# ----
#!/bin/bash
# traps and temp
tmp=$(mktemp -d) || exit
cleanup() { local s=$?; rm -rf "$tmp"; echo "cleanup $s"; exit $s; }
trap cleanup EXIT
trap 'echo INT; exit 130' INT TERM
touch "$tmp"/{a,b,c}.txt
for f in "$tmp"/*.txt; do echo "${f##*/}" >> "$tmp/list"; done
mapfile -t L < "$tmp/list"; echo "${#L[@]} ${L[*]}"
( trap - EXIT; exit 3 ); echo $?
f() { trap 'echo ret' RETURN; return 4; }; f; echo $?
kill -TERM $$
echo not reached
# ----
#!/bin/bash
# retry, backoff
retry() { local n=$1 d=$2 i; shift 2; for ((i=1;i<=n;i++)); do "$@" && return 0; echo "try $i failed ($?)" >&2; ((i<n)) && sleep "$d"; done; return 1; }
c=0; flaky() { ((++c >= 3)); }
retry 5 0.01 flaky; echo "st $? c $c"
retry 2 0.01 false; echo $?
# ----
#!/bin/bash
# parallel with wait -n and max jobs
max=3 running=0
job() { sleep "0.$1"; echo "done $1" >> log; return $(( $1 % 2 )); }
declare -A pids
for i in 1 2 3 4 5; do
  job $i & pids[$!]=$i; ((++running >= max)) && { wait -n; ((running--)); }
done
wait; sort log; echo ${#pids[@]}
fail=0; for i in 1 2 3; do (exit $((i-1))) & p+=($!); done; for x in "${p[@]}"; do wait $x || ((fail++)); done; echo fail $fail
wait -n 2>/dev/null; echo $?
sleep 0.05 & wait -n -p who; [[ $who == $! ]] && echo same
# ----
#!/bin/bash
# coproc server
coproc CALC { while IFS= read -r e; do [[ $e == quit ]] && break; echo $((e)); done; echo bye; }
for e in '1+2' '3*4' '2**10'; do echo "$e" >&"${CALC[1]}"; read -r r <&"${CALC[0]}"; echo "$e = $r"; done
echo quit >&${CALC[1]}; read -r r <&${CALC[0]}; echo $r; wait $CALC_PID; echo $?
# ----
#!/bin/bash
# select menu
PS3='pick> '
select x in apple "banana split" quit; do
  case $x in quit) break;; '') echo "bad $REPLY";; *) echo "got $x ($REPLY)";; esac
done <<< $'1\n2\n9\n\n3'
echo end
# ----
#!/bin/bash
# log report
cat > acc.log <<'L'
10.0.0.1 - - [10/Oct] "GET /a HTTP/1.1" 200 123
10.0.0.2 - - [10/Oct] "POST /b HTTP/1.1" 404 55
10.0.0.1 - - [11/Oct] "GET /a HTTP/1.1" 500 1
bad line
L
declare -A hits bytes codes; bad=0
re='^([0-9.]+) [^[]*\[([^]]+)\] "([A-Z]+) ([^ "]+)[^"]*" ([0-9]{3}) ([0-9]+)$'
while read -r l; do
 if [[ $l =~ $re ]]; then ip=${BASH_REMATCH[1]}; ((hits[$ip]++)); ((bytes[$ip]+=BASH_REMATCH[6])); let "codes[${BASH_REMATCH[5]}]++"; else ((bad++)); fi
done < acc.log
printf '%-10s %5s %6s\n' IP HITS BYTES; for ip in "${!hits[@]}"; do printf '%-10s %5d %6d\n' "$ip" "${hits[$ip]}" "${bytes[$ip]}"; done | sort
for c in $(printf '%s\n' "${!codes[@]}" | sort); do printf '%s=%s ' $c ${codes[$c]}; done; echo "bad=$bad"
# ----
#!/bin/bash
# nameref utils, local -n, trap chains
push() { local -n _a=$1; shift; _a+=("$@"); }
pop() { local -n _a=$1 _r=$2; _r=${_a[-1]}; unset '_a[-1]'; }
join() { local IFS=$1; shift; echo "$*"; }
declare -a st; push st a "b c" d; pop st v; echo "$v | $(join , "${st[@]}")"
add_trap() { local cur; cur=$(trap -p EXIT); cur=${cur#"trap -- '"}; cur=${cur%"' EXIT"}; trap "${cur:+$cur; }$1" EXIT; }
add_trap 'echo one'; add_trap 'echo two'; add_trap "echo 'three'"; trap -p EXIT
deep() { local -n m=$1; for k in "${!m[@]}"; do echo "$k:${m[$k]}"; done | sort; }; declare -A mm=([x]=1 [y z]=2); deep mm
upper() { declare -n ref=$1; ref=${ref^^}; }; w=hello; upper w; echo $w
# ----
#!/bin/bash
# dynamic source, heredocs
lib=lib.sh; cat > $lib <<'EOF'
greet() { printf 'hi %s from %s:%s\n' "$1" "${BASH_SOURCE[0]##*/}" "$LINENO"; }
[[ ${BASH_SOURCE[0]} == "$0" ]] && echo main
return 7
EOF
source ./$lib; echo $?; greet bob
gen() { cat <<-EOF
	name: $1
	list: $(for i in 1 2; do cat <<IN
	  - $i$(printf '%s' "<$i>")
IN
	done)
	literal: \$HOME \`x\` \\
	EOF
}
gen "a b"
cat <<'A' - <<B | sed 's/^/> /'
raw $x
A
cooked ${x:-dflt} $((6*7))
B
eval "$(printf 'fn_%s() { echo "%s: $*"; }\n' a A b B)"; fn_a 1 2; fn_b; type fn_a | head -3; declare -f fn_b
# ----
# installer
set -eu
PREFIX=$PWD/opt; VERSION=1.2.3
say() { printf '==> %s\n' "$*"; }
need() { command -v "$1" >/dev/null 2>&1 || { echo "missing $1" >&2; exit 1; }; }
for c in sed awk tar gzip; do need $c; done
work=$(mktemp -d "${TMPDIR:-/tmp}/inst.XXXXXX"); trap 'rc=$?; rm -rf "$work"; say "exit $rc"' EXIT; trap 'exit 129' HUP; trap 'exit 130' INT
mkdir -p "$work/pkg/bin" "$work/pkg/share/doc"
cat > "$work/pkg/bin/tool" <<EOS
#!/bin/sh
echo "tool @VERSION@ \$*"
EOS
sed -i "s/@VERSION@/$VERSION/" "$work/pkg/bin/tool"; chmod 755 "$work/pkg/bin/tool"
(cd "$work" && tar czf pkg.tgz pkg)
umask 022; install -d "$PREFIX/bin" 2>/dev/null || mkdir -p "$PREFIX/bin"
tar xzf "$work/pkg.tgz" -C "$work" && cp "$work/pkg/bin/tool" "$PREFIX/bin/"
ln -sf tool "$PREFIX/bin/t"; "$PREFIX/bin/t" a b
case $(uname -s) in Linux) os=linux;; *) os=other;; esac; say $os
find opt -type f -o -type l | sort
IFS=. read -r a b c <<EOF
$VERSION
EOF
say "next $a.$b.$((c+1))"
false || say handled
test -d nope && say no
say last
exit 7
# ----
# release script: changelog, semver
bump() { local IFS=.; set -- $1 $2; local part=$4; case $part in major) echo "$(($1+1)).0.0";; minor) echo "$1.$(($2+1)).0";; patch) echo "$1.$2.$(($3+1))";; *) return 1;; esac; }
for p in major minor patch bad; do bump 1.9.10 $p || echo "bad part: $p ($?)"; done
vercmp() { local i a b; IFS=. read -ra a <<< "$1"; IFS=. read -ra b <<< "$2"; for ((i=0;i<${#a[@]}||i<${#b[@]};i++)); do ((10#${a[i]:-0} > 10#${b[i]:-0})) && return 1; ((10#${a[i]:-0} < 10#${b[i]:-0})) && return 2; done; return 0; }
for pair in "1.2.3 1.2.3" "1.10 1.9.9" "08.1 8.01" "2 2.0.1"; do vercmp $pair; echo "$pair -> $?"; done
declare -A log=(); while IFS=: read -r type msg; do log[${type%%(*}]+="- ${msg# }"$'\n'; done <<'L'
feat(ui): add menu
fix: crash on empty
feat: speed
docs: typo
L
for t in feat fix docs; do [[ ${log[$t]-} ]] || continue; printf '## %s\n%s\n' "${t^}" "${log[$t]}"; done
date -u -d @0 +%F 2>/dev/null; printf '%(%Y-%m-%d)T\n' 0
# ----
# table, columns, unicode, padding
rows=("name|qty|price" "apple|3|1.5" "größe|12|10.25" "x y|7|.5")
for r in "${rows[@]}"; do IFS='|' read -r n q p <<< "$r"; printf '%-10s|%5s|%8s\n' "$n" "$q" "$p"; done
printf '%s\n' "${rows[@]/#/> }" | nl -ba | sed 's/\t/ /'
printf -v line '%*s' 30 ''; echo "${line// /-}"; printf '%.3s|%-8.2f|%+d|%x|%o|%e|%05d|%b|%q\n' abcdef 3.14159 5 255 8 12345.678 42 'a\tb' "it's"
total=0; while read -r _ q p; do total=$(awk -v t=$total -v q=$q -v p=$p 'BEGIN{printf "%.2f", t+q*p}'); done < <(printf '%s\n' "${rows[@]:1}" | tr ' |' '_ '); echo "total $total"
# ----
# stack machine, recursion, string ops
eval_rpn() { local -a s=(); local t; for t; do case $t in [0-9]*) s+=("$t");; *) local b=${s[-1]} a=${s[-2]}; unset 's[-1]' 's[-1]'; s+=($((a $t b)));; esac; done; echo "${s[0]}"; }
eval_rpn 3 4 + 2 '*'; eval_rpn 10 3 % 
fib() { (($1<2)) && { echo $1; return; }; echo $(( $(fib $(($1-1))) + $(fib $(($1-2))) )); }; fib 10
perm() { local items="$1" out="$2" i; [[ -z $items ]] && { echo "$out"; return; }; for ((i=0;i<${#items};i++)); do perm "${items:0:i}${items:i+1}" "$out${items:i:1}"; done; }; perm abc "" | xargs
rev_() { local s=$1 r=; while [[ $s ]]; do r=${s:0:1}$r; s=${s:1}; done; echo "$r"; }; rev_ "hello wörld"
caesar() { local a=({a..z}) i o=; for ((i=0;i<${#1};i++)); do c=${1:i:1}; if [[ $c == [a-z] ]]; then printf -v n %d "'$c"; o+=${a[(n-97+$2)%26]}; else o+=$c; fi; done; echo "$o"; }; caesar "hello, world" 3
s="The quick brown fox"; echo "${s,,}" "${s^^}" "${s~~}" "${s#* }" "${s##* }" "${s%% *}" "${s/quick/slow}" "${s//o/0}" "${s:4:5}" "${s: -3}" "${#s}" "${s@Q}" "${s@U}"
[[ $s =~ (q[a-z]+).*(f.x) ]] && declare -p BASH_REMATCH
set -- a "b c" d; echo "$# $* $@" "${@:2}" "${*: -1}" "${@/b/X}"; set -- "${@:1:1}" new "${@:2}"; printf '<%s>' "$@"; echo
# ----
# locks, pid files, signals, fd tricks
exec 3>&1 4>log; echo to-log >&4; { echo out; echo err >&2; } 2>&1 >&3 | sed 's/^/E:/'; exec 4>&-; cat log
lock() { local f=$1.lock; if (set -C; echo $$ > "$f") 2>/dev/null; then trap 'rm -f "$f"' RETURN; return 0; else echo "locked by $( [[ $(<"$f") == $$ ]] && echo me)"; return 1; fi; }
(set -C; echo x > L.lock; echo y > L.lock) 2>&1 | sed 's/.*L.lock/L.lock/'
{ read -r a; read -r b; } < <(printf '1\n2\n'); echo $a$b
exec {fd}<<< $'l1\nl2'; while read -r -u $fd l; do echo "fd $l"; done; exec {fd}<&-
while read -r x <&5 && read -r y <&6; do echo "$x-$y"; done 5< <(seq 3) 6< <(seq 4 7)
diff <(echo a; echo b) <(echo a; echo c) | sed -n 2p
echo $(( $(wc -c < log) )) $(< log)
( trap 'echo got; exit 9' USR1; kill -USR1 $BASHPID; echo no ); echo $?
f() { local - ; set -f; echo *; }; f; echo l*
time_() { local start=$SECONDS; "$@"; echo "rc=$? $((SECONDS-start))"; }; time_ true
printf '%s\n' a b c | { mapfile -t x; echo "${#x[@]} ${x[*]}"; }; mapfile -t -s 1 -n 1 x < <(printf '%s\n' a b c); echo "${x[@]}"; mapfile -d , -t x <<< "q,w,e"; declare -p x
shopt -s nullglob dotglob; touch .hid; echo .h* nomatch*; shopt -u nullglob; echo nomatch*; shopt -s globstar; mkdir -p d/e; touch d/e/z; echo **/z; GLOBIGNORE='*.lock'; echo L*; unset GLOBIGNORE; echo L*
# ----
#!/bin/sh
set -eu
: "${NAME:=world}" "${GREETING:=hello}"
log() { printf >&2 '%s\n' "$*"; }
run() { log "+ $*"; "$@"; }
parse() { while [ $# -gt 0 ]; do case "$1" in -h|--help) echo help; return 0;; -n) NAME="$2"; shift 2;; -n*) NAME="${1#-n}"; shift;; --) shift; break;; -?*) echo "bad: $1"; return 2;; *) break;; esac; done; echo "rest: $*"; }
parse -n bob x y; parse -nal z || true; parse -q || echo rc $?; run echo "$GREETING $NAME"
i=0; until [ "$i" -ge 3 ]; do i=$((i + 1)); [ $i -eq 2 ] && continue; echo "i=$i"; done
list="a:b::c"; OLDIFS=$IFS; IFS=:; for e in $list; do echo "[$e]"; done; IFS=$OLDIFS
cat <<EOF | while IFS== read -r k v; do eval "cfg_$k=\$v"; echo "$k -> $v"; done
one=1
two=a b
EOF
[ -z "${cfg_one:-}" ] && echo "subshell lost"
printf '%s\n' "$(printf 'x\n\n\n')" end; echo "`echo \`echo nested\``"; x='*'; echo $x | grep -c . ; echo "$x"
if ! command -v nosuch >/dev/null; then echo absent; fi; (exit 3) || echo "rc $?"; test "a" = "a" -a 1 -lt 2 && echo both
