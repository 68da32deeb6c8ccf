# Loops over files: tests of them, their first lines, and builtins that write to one file each.
# ----
for i in 1 2 3; do echo $i > f$i; done; x=; for f in f*; do [ -f "$f" ] && read -r x < $f; echo $? $x "$_"; done; cat f*
# ----
printf 'no end' > a; : > b; printf ' \t two  words \nmore\n' > c; printf 'z\0y\n' > d; x=1; for f in a b c d e .; do read -r x < $f; echo "$? [$x]"; done
# ----
printf '1\n' > a; x=0; f=a; IFS=1; read -r x < $f; echo "$? [$x]"; unset IFS x; read -r x < $f; echo $x; readonly x; read -r x < $f; echo $? $x; echo on
# ----
echo 3+4 > a; declare -i x; f=a; read -r x < $f; echo $x; declare -u y=; echo up > a; read -r y < $f; echo $y; read -r z < "$f"; echo $z; REPLY=; read -r < a; echo $REPLY
# ----
mkdir d; echo in > 'a b'; f='a b'; x=; read -r x < $f; echo $? "$x"; read -r x < "$f"; echo $? $x; read -r x < ""; echo $?; read -r x < $none; echo $?; read -r x < d; echo $?
# ----
echo one > a; x=; read() { echo function; builtin read "$@"; }; read -r x < a; echo $x; unset -f read; set -x; read -r x < a; [ -f "$x" ]; echo $x > b; set +x; cat b
# ----
x=; set -u; read -r x < $none; echo never
# ----
x=; set -e; trap 'echo ERR $?' ERR; : > e; read -r x < e || echo empty; [ -f "e" ] || echo no; read -r x < e; echo never
# ----
set -e; trap 'echo ERR $?' ERR; if [ -d "none" ]; then echo; fi; echo a > b; echo c > none/d || echo failed; [ -f "none" ]; echo never
# ----
echo a > f; set -o noclobber; echo b > f; echo $?; cat f; echo c >> f; echo d >| f; cat f; echo e > g; cat g
# ----
n=a; echo 1 > $n.txt; echo 2 >> $n.txt; printf '%s\n' x y 2> $n.err >> $n.txt; cat $n.txt; echo err 1>&2 2> e; pwd > p; true > t; wc -c t; test -f a > q; echo $?
# ----
n='a b'; echo 1 > $n.x; echo $?; n='*'; echo 1 > $n.x; ls; n=; echo 2 > x$n; echo 3 > $n; echo $?; cat x
# ----
for i in 1 2; do echo $i > /dev/stdout; echo $i > /dev/null; echo $i > /dev/fd/1; done; x=; read -r x < /dev/stdin <<< here; echo "$x"; echo from | { read -r x < /dev/stdin; echo $x; }
# ----
a=1 b='2 3' c='*' d=; touch q1; for w in x$a$b x$d x$a/$c $d$d y$b$c q$c -$a=$c; do echo "[$w]"; done; IFS=1; echo x$a$a.; IFS=; echo x$b; set -f; echo q$c
# ----
[ -z "" ]; echo $? $_; [ -n "" ]; echo $?; f=; [ -f "$f" ]; echo $?; [ -e "/dev/null" ]; echo $?; [ -f "/dev/stdin" ] < /dev/null; echo $?
# ----
trap 'echo debug' DEBUG; echo a > f; x=; read -r x < f; [ -f "f" ]; trap - DEBUG; echo $x; set -o restricted 2>/dev/null; f() { echo $1 > g; }; f 5; cat g
# ----
exec 3< <(printf 'a\nb\n'); x=; for i in 1 2; do read -r x <&3; echo $x; done; echo l > f; while read -r x < f; do echo $x; break; done; echo q > f; { read -r x < f; read -r y; } <<< out; echo $x $y
# ----
echo one > f; echo "$(read -r x < f; echo $x)" > g; cat g; echo $(< g) > h; cat h; echo a b > f; x=; read -r x y < f; echo $x-$y; exec 5> k; echo five >&5; echo six 5>&- > l; cat k l
# ----
BASH_ENV=; alias; n=1; echo $((n++)) > f$((n++)); ls; echo $n; a=(p q); for i in 0 1; do echo $i > ${a[i]}; done; cat p q; read -r x < ${a[n++ - 3]}; echo $x $n
