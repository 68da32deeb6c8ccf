# Lines that go on, and what is read but not run.
# ----
echo a &\
& echo b; echo c |\
cat; echo d |\
| echo e; case x in x) echo q;\
; esac; echo f >\
> out; cat out; echo g 2>\
&1; cat <\
< EOF
hi
EOF
cat <<\
- X
	tab
	X
# ----
cat <<EO\
F
hello
EOF
cat <<"E
F"
x
E
F
echo after
# ----
cat <<'E'\O
$x
EO
cat <<E"O"F
$x
EOF
cat <<$x
lit
$x
cat <<`a`
q
`a`
cat <<\EOF
$y \
z
EOF
# ----
echo $\
x; x=5; echo $\
x; echo ${\
x}; echo "$\
x"; echo $\
(echo sub); echo $((1+\
2)); echo `echo a\
b`; echo $(\
echo z); echo ${x\
}; ech\
o hi; "ec\
ho" there; echo $'a\
b'
# ----
echo a\
# ----
echo 'a\' "b\\" c\\ d\'; x='q\'; echo $x\\; echo ${x%\\}; echo "${x%\\}"; echo ${x#q\\}; y='a\b'; echo ${y/\\/x} "${y/\\/x}" ${y//\\b/z}; echo ${u-\a} "${u-\a}" ${u-\\} "${u-\\}" "${u-\}}" ${u-\}} ${u-'}'} "${u-'a'}" "${u-\"}" ${u-\"} ; case 'a\' in *\\) echo m;; esac; case a in \a) echo m;; esac
# ----
set -n
echo no
# ----
echo 'echo "$#:$*"; shift; echo "$#:$*"' > s; set -- a b c; . ./s; echo "$*"; set -- a b c; . ./s x y; echo "$*"; echo 'set -- p q r' > t; set -- a b; . ./t; echo "$*"; set -- a b; . ./t z; echo "$*"; f() { . ./s; echo "$*"; . ./s 1 2; echo "$*"; }; f m n; echo "$*"; echo 'set -- 1; shift; echo $#' > u; set -- a b; . ./u z;  echo "$*"
# ----
x=$(false); echo $?; x=$(exit 3) y=$(exit 4); echo $?; x=1 $(false); echo $?; x=$(exit 5) $(true); echo $?; $(exit 6); echo $?; x=$(exit 7) :; echo $?; e=; x=$(exit 8) $e; echo $?; x=1 $e; echo $?; false; x=1; echo $?; false; $e; echo $?; x=`false` $e; echo $? ; echo $x; a=5 $e; echo "[$a]"
