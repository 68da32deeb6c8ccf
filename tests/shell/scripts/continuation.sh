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
# ----
bash -n -c 'echo hi; if'; echo $?; bash -n -c 'echo hi'; echo $?; echo 'set -n; echo x' > f; bash f; echo $?; bash -c 'set -n
echo a
)'; echo $?; set -o | grep noexec
# ----
echo 'set -n; echo x
echo y' > f; bash f; echo $?; bash -c 'set -n; echo no'; echo $?; (set -n; echo no); echo yes; f() { set -n; echo no; }; bash -c "$(declare -f f); f; echo no"; echo $?; eval 'set -n'; echo no
# ----
echo x$\
1y; set -- p q; echo $\
1 "$\
2" $1\
2 ${1\
} ${\
#} $\
@; a=5; echo $((a\
+1)) $(\
echo q) `\
echo r` $a\
b; if\
 true; then echo w; f\
i; cas\
e a in a) echo c;; esac; f\
or i in 1; do echo $i; done
# ----
cat <<\
EOF
a
EOF
cat << E\
O\
F
b\
c $\
a
d\\
EOF
cat <<-'X Y'
	q
	X Y
cat <<E;cat <<F
1
E
2
F
cat <<E &&
3
E
echo and; cat <<$(x)
dollar
$(x)
# ----
echo a\; b\& c\| d\( e\) \<f \>g \# \~ \! \{x,y\} \* \? \[ \$x \`; echo \
; echo a\ ; echo "a\ "; echo 'a\ '; x=a\ b; echo "$x"; echo "${x%\ b}" ${x%' b'} ${x%" b"}; echo ${y-\}} "${y-\}}" ${y:-a\ b} "${y:-a\ b}" ${y:-'a b'} ${y:-"a b"} "${y:-'a b'}" ; echo ${x#\a} "${x#\a}" ${x/\ /_} "${x/\ /_}" ${x/ /\\} "${x/ /\\}" "${x/ /\/}"; case 'a b' in a\ b) echo m;; esac; case '*' in \*) echo star;; esac; [[ '*' == \* ]] && echo st; z='\*'; case '*' in $z) echo zz;; esac; case '\*' in "$z") echo zq;; esac
# ----
echo ${x:-${y:-${z:-deep}}} "${x:-"${y:-'z'}"}" ${x:-$(echo a b)} "${x:-$(echo "a b")}" ${x:-`echo q`} ${x:-~} ~ ~root "~" a~ x=~ ; HOME=/h; echo ~ ~/x "${x:-~}" ${x:-~/y}; v=~:~/b; echo $v; echo ${x:+set} ${x+set}; x=; echo ${x:+set} ${x+set} ${x:-e} ${x-e} ; unset x; : ${x:=d}; echo $x; : "${y:=a b}"; echo "$y"; echo ${#y} ${#1} ${#@} ${1-none} ${10-ten}
# ----
[\
[ a = a ]\
] && echo cond; echo $(\
(3+4)) $\
((5)); case a in a) echo 1 ;\
; esac
cat <<"$y"
quoted $y
$y
cat <<$x"z"
$x
$xz
cat <<''
empty

# ----
shopt -s expand_aliases
x=$(nn 2>/dev/null); alias nn='echo n'; x=$(nn); echo $x; echo `nn` "$(nn)" ${u-$(nn)}; f() { echo $(nn); }; f; unalias nn; f 2>/dev/null; alias nn='echo changed'; f; cat <(nn)
alias ls='echo -l'; x=$(ls a); echo "$x"; cat <<X
$(ls b) `ls c`
X
# ----
[[ a ==\
 a ]] && echo 1; [[ -n\
 a ]] && echo 2; [[ a\
 ==\
 a\
 ]] && echo 3; [[ \
a -\
lt 1 ]]; echo $?; [[ ! \
a ]]; echo $?; [[ a &\
& b ]]; echo $?; [[ ( a ) |\
| b ]]; echo $?
echo q 2\
>f; echo r 1\
2>f 1\
>&2; ls; cat f
# ----
case a in(a)echo f;;esac;f()case a in(a)echo k;;esac;f
