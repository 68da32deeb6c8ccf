# Patterns, regular expressions, tests.
# ----
[[ foobar =~ foo|foobar ]]; echo ${BASH_REMATCH[0]}
[[ "a.b" =~ ^a[.]b$ ]] && echo 1; [[ "a+b" =~ a\+b ]] && echo 2; [[ "aab" =~ (a+)(b) ]] && echo "${BASH_REMATCH[@]}"; [[ x =~ [ ]]; echo $?; [[ x =~ '(' ]]; echo $?; r='^(.*):([0-9]+)$'; [[ foo:12 =~ $r ]] && echo "${BASH_REMATCH[1]} ${BASH_REMATCH[2]}"
# ----
[[ "\\" =~ ["."] ]] && echo bad 1; [[ "\\" =~ [\.] ]] && echo bad 4; [[ "\\" =~ [\\] ]] || echo bad 5; [[ "." =~ ["."] ]] && echo ok; [[ 'a]b' =~ a["]"]b ]] && echo br; [[ "x y" =~ x" "y ]] && echo sp; [[ ab =~ a"."b ]] || echo no; [[ a.b =~ a"."b ]] && echo yes
# ----
shopt -s nocasematch; [[ ABC =~ b ]] && echo $BASH_REMATCH; [[ ABC == abc ]] && echo eq; case ABC in abc) echo c;; esac; shopt -u nocasematch; [[ $'a\nb' =~ a.b ]] && echo nl; [[ aXbXc =~ X ]]; echo "${#BASH_REMATCH[@]}"; [[ abc =~ z ]]; echo "${#BASH_REMATCH[@]} $?"; [[ "" =~ ^$ ]] && echo empty; [[ abab =~ ^(ab)\1$ ]] && echo backref; [[ "a b" =~ [[:space:]] ]] && echo cls; [[ é =~ ^.$ ]] && echo u
# ----
[[ abc == a* ]] && echo 1; [[ abc == "a*" ]] || echo 2; x='a*'; [[ abc == $x ]] && echo 3; [[ abc == "$x" ]] || echo 4; [[ a < b && b > a ]] && echo 5; [[ ! a == b ]] && echo 6; [[ -z "" && -n x || a == b ]] && echo 7; [[ (a == b || a == a) && c ]] && echo 8; [[ 10 -gt 9 ]] && echo 9; [[ 0x10 -eq 16 ]] && echo 10; [[ a -eq 0 ]] && echo 11; [[ 010 -eq 8 ]] && echo 12; [[ -v nope ]] || echo 13; [[ x ]] && echo 14; [[ "" ]] || echo 15; [[ $unset ]] || echo 16; [[ a = a ]] && echo 17; [[ foo == @(foo|bar) ]] && echo 18; [[ foo != !(foo) ]] && echo 19
# ----
test a -a b; echo $?; test "" -o b; echo $?; test ! a; echo $?; test \( a \); echo $?; test a = b -o c = c; echo $?; [ ]; echo $?; [ a; echo $?; test 1 -eq x; echo $?; test a b c; echo $?; test -z; echo $?; test -n; echo $?; test = ; echo $?; test ! ; echo $?; test \( ; echo $?; test 5 -lt 10 -a 3 -gt 2; echo $?; test a -ne; echo $?; test -t a; echo $?; test ' 5 ' -eq 5; echo $?; test a \< b; echo $?; [ \( a = a \) -a \( b = b \) ]; echo $?; [ -e / -a ! -f / ]; echo $?; test a = ; echo $?; test x -ef; echo $?; [ 1 -eq 1 -a ]; echo $?
# ----
shopt -s extglob; for p in '!(foo)*' '*(!(foo))' '!(foo)b*' '@(a|b)*' '!(*.c)' '+([0-9])' '!(!(foo))' 'a!(b)c'; do for s in foo foobar foobb abc ac 12 x.c; do [[ $s == $p ]] && echo "$s $p"; done; done
x=foobarfoo; echo ${x#!(foo)} ${x##!(foo)} ${x%!(foo)} ${x%%!(foo)} ${x/!(foo)/X} ${x//@(o|b)/_} ${x/#!(bar)/Y}
# ----
touch a b .h ab.c; shopt -s extglob; echo !(a); echo *; echo .*; shopt -u globskipdots; echo .*; shopt -s dotglob; echo *; echo ?h; echo [.]h; echo !(a*); shopt -s nullglob; echo x* y; shopt -s nocaseglob; echo A*; GLOBIGNORE='a*'; echo *; unset GLOBIGNORE; echo [a-b]; echo [!a]*; echo [^a]*; echo [[:alpha:]]; echo "["a"]"* ; echo \[*; mkdir -p d/e; touch d/f; echo */; echo d/*; echo */*; echo ./*; echo d//f*; shopt -s globstar; echo **; echo **/; echo **/f; echo d/**
# ----
echo [ab; echo [; echo a[; shopt -s failglob; echo [ab; echo ok; echo 'q'*; echo no
# ----
shopt -s nullglob; for f in *.none; do echo $f; done; echo *.none x; a=(*.none); echo ${#a[@]}; set -f; echo *; echo "done"
# ----
touch .h a.c b; GLOBIGNORE='*.c'; echo *; unset GLOBIGNORE; echo *; GLOBIGNORE=x; shopt dotglob; shopt -u dotglob; echo *; set -f; GLOBIGNORE=y; set +f; echo *; GLOBIGNORE=; shopt dotglob; echo *
# ----
mkdir -p a/c; touch a/b a/c/d; echo a//b*; echo *//b; echo a///c/*; echo ./a//c//d*; echo .//*; echo //*tmp /*tmp ///*tmp | tr ' ' '\n' | grep -c /tmp; echo *//; echo a//*/; echo a/*//d; shopt -s globstar; echo **//b; echo a//**; echo */.//b
# ----
a=5; declare -n r=a q=r s=q; echo ${!q} ${!s} ${!r} $s
