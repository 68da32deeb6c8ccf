"""Rarely used options and forms of the text tools, in scripts beside the machine's own tools."""

from __future__ import annotations

import pytest
from support_scripts import same_as_bash

GREP = r"""
grep -I x bad
grep -rI x . | sort ; grep -c -I x bad
grep --binary-files=without-match l bad a
grep -lc o a b
grep -Lc o a b
grep -ql o a
grep -qc o a
grep -u o a
grep '\d' f
GREP_COLORS='sl=1:cx=2' grep --color=always -C1 two a
GREP_COLORS='sl=1:cx=2' grep --color=always -v -C1 two a
GREP_COLORS='sl=1:cx=2:rv' grep --color=always -v -C1 two a
GREP_COLORS='sl=1' grep --color=always o a
GREP_COLORS='ne' grep --color=always -n two a
GREP_COLOR='7' grep --color=always two a
"""


@pytest.mark.parametrize("script", GREP.strip().splitlines())
def test_grep_in_scripts(script: str) -> None:
    """Output, messages and status of a script are those of the machine's tools."""
    same_as_bash(script)


GAWK = r"""
gawk 'function f(x){return x*2} BEGIN{g="f"; print @g(4)}'
gawk 'BEGIN{g="length"; print @g("abc"); g="toupper"; print @g("x"); g="substr"; print @g("hello",2,3)}'
gawk 'BEGIN{g="nope"; print @g(1)}'
gawk 'function f(a,b){return a b} BEGIN{g="f"; print @g("x","y","z")}'
gawk 'function f(a,n){a["x"]=n} BEGIN{g="f"; @g(z, 3); print z["x"]; print @g(z, "q") z["x"]}'
gawk 'function f(s){print "in " s; return 1} {g="f"; n+=@g($1)} END{print n}' t
gawk 'function m(a,b){return a>b?a:b} function n(a,b){return a<b?a:b} {h=NR%2?"m":"n"; print @h($2,$3)}' t
gawk 'BEGIN{r=@/a+/; print typeof(r), "caat" ~ r, r; s="xaay"; gsub(r,"-",s); print s}'
gawk 'BEGIN{print split("1a2aa3",q,@/a+/), q[3]; print match("xab",@/b/), typeof(@/x/)}'
gawk 'BEGIN{a=5; SYMTAB["a"]="x"; print a, SYMTAB["a"], ("b" in SYMTAB), ("a" in SYMTAB), ("NR" in SYMTAB)}'
gawk 'BEGIN{print SYMTAB["OFS"] "|"; SYMTAB["zz"]=1}'
gawk '{SYMTAB["n"] = n + $2; print SYMTAB["NR"], n}' t
gawk 'BEGIN{a["k"]=3; print SYMTAB["a"]["k"], length(FUNCTAB) > 20}'
gawk 'function foo(){} BEGIN{print ("foo" in FUNCTAB), ("substr" in FUNCTAB), ("bar" in FUNCTAB); FUNCTAB["x"]=1}'
gawk 'BEGINFILE{print "B" FILENAME; if(ERRNO) nextfile} ENDFILE{print "E", FNR} {n++} END{print n}' a nope b
gawk 'BEGINFILE{print ERRNO} {print}' nope a
gawk 'BEGINFILE{nextfile} ENDFILE{print "E"}' a b
gawk -i inplace '{print "x" $0}' a b; cat a b
gawk -i inplace 'BEGIN{print "b"} {gsub(/o/, "0"); print} END{print "e"}' a; cat a
gawk -i inplace '{printf "%s,", $1 > "/dev/stdout"}' a; cat a
echo 'function g(){return 9}' > l.awk; gawk -i l.awk 'BEGIN{print g()}'; gawk -i l 'BEGIN{print g()}'
gawk 'BEGIN{print log(-1); x = 0; print 1/x}'
gawk 'END{print log(-1); f()} function f(){ print 1/q}' a
gawk '{$2=1; print 1/x}' a
gawk 'BEGIN{print 1; print 5%0}'
gawk 'BEGIN{x=1}; BEGIN{ $(-1)=2 }'
gawk 'BEGIN{print and(-1,1)}'
gawk 'BEGIN{split("a:b",x,":",x)}'
gawk 'BEGIN{fflush("x")}'
gawk 'function f(f){}'
gawk 'function f(a,b,a){}'
gawk 'BEGIN{printf "%a %A %a %a\n", 1, 0.5, 3.75, 0}'
gawk 'BEGIN{print gensub(/a/,"x","h","aa")}'
gawk 'BEGIN{x[1]=1; print x}'
gawk 'BEGIN{print "a" > "/nonexistent/x"}'
"""


@pytest.mark.parametrize("script", GAWK.strip().splitlines())
def test_gawk_in_scripts(script: str) -> None:
    """Output, messages and status of a script are those of the machine's tools."""
    same_as_bash(script)


DIFF = r"""
diff -f a b
diff -f b a
diff --color=always a b
diff --color=always -u a b
diff --color=always -c a b
diff --color=always -y -W 40 a b
diff --color=always --palette='ad=33:de=34:hd=35:ln=36' -u a b
diff --color=auto a b; diff --color=never a b; diff --color=pink a b
mkdir x y; cp -p a x/f; cp -p b y/f; diff -r -U0 --color=always x y; diff -r --label=k x y
diff -D FOO a b; diff -D FOO a a; diff -D X d d
diff --line-format='%L' a b
diff --old-line-format='-%L' --new-line-format='+%L' --unchanged-line-format=' %L' a b
diff --unchanged-line-format= --old-line-format='%dn:%L' --new-line-format='%3dn>%L%c'"'x'" a b
diff --changed-group-format='<%<|%>>' a b
diff --changed-group-format='%df,%dl %(n=1?one:%dN many)%c'"'\\012'" --unchanged-group-format= a n
diff --old-group-format='%q' --changed-group-format='%05dE %-4dFx%XN%%' a b
diff --line-format='%q%dx' a b
diff --old-line-format=x --old-line-format=y a b
diff -u -D F a b; diff -y -c a b; diff -u -U 1 a a
diff -t f t; diff -T f t; diff -t -T f t
diff -uT f t | tail -n +3; diff -ut f t | tail -n +3; diff -cT f t | tail -n +3
diff --tabsize=4 -y -t f t; diff --tabsize=4 -y f t; diff --tabsize=x f t; diff --tabsize=3 -t f t
diff -W x a b; diff -W 0 a b
diff --strip-trailing-cr crlf a
diff --from-file=a b n; diff --to-file=a b n; diff --from-file=d a; diff --from-file=a --to-file=b n
diff --suppress-blank-empty -u a <(printf 'one\n\nthree\n') | tail -n +3
diff --horizon-lines=2 a b; diff --horizon-lines=x a b
diff --no-dereference d/link a; ln -s x l1; ln -s x l2; ln -s y l3; diff --no-dereference l1 l2; diff --no-dereference l1 l3
diff --unidirectional-new-file nope a; diff -P a nope
printf 'a\tb\n' > x; printf 'a       b\n' > y; diff -E x y; diff x y | wc -l
cp -r d d2; echo x >> d2/top.c; echo x > d2/e/deep.txt; diff -r -S f d d2; diff -rq d d2
"""


@pytest.mark.parametrize("script", DIFF.strip().splitlines())
def test_diff_in_scripts(script: str) -> None:
    """Output, messages and status of a script are those of the machine's tools."""
    same_as_bash(script)


HEXDUMP = r"""
hexdump -e '"%08.8_ax  " 8/1 "%02x " "  " 8/1 "%02x " "\n"' f
hexdump -e '16/1 "%02x " "\n"' f; hexdump -v -e '/1 "%02x "' f
hexdump -e '1/1 "%d\n"' f; hexdump -e '4/2 "%5d" "\n"' f; hexdump -e '2/4 "%08x " "\n"' f
hexdump -e '"%_p"' bad; hexdump -e '"%_c"' bad; hexdump -e '"%_u\n"' bad
printf '\0\1\177\200 \t' > z; hexdump -e '16/1 "%_u " "\n"' z; hexdump -e '3/1 "%3_c|" "\n"' z
hexdump -e '"%_Ax\n"' -e '8/1 "%_p" "\n"' f
hexdump -e '"%s\n"' f; hexdump -e '"%5.3s|"' f; hexdump -e '"%-6.3s|"' f
hexdump -e '1/8 "%e\n"' f; hexdump -e '1/4 "%e "' f; hexdump -e '1/4 "%12.3f|"' n
hexdump -e '"%q"' f; hexdump -e 'x' f; hexdump -e '3/1 "%d %d"' a; hexdump -e '1/3 "%d"' a; hexdump -e '"%' a
hexdump -e '"%10_ax|%-10_ad|%_ao\n" 4/1 "" ' a; hexdump -e '"%3c|%-3c|\n"' a
hexdump -e '2/2 "%04x " "|" 1/1 "%c" "\n"' a; hexdump -e '"%x"  "\n"' a; hexdump -e '4/1 "%3_p" "\n"' a
hexdump -e '"%+d % d %#x %#o\n"' a
hexdump -b -c f; hexdump -bx a b; hexdump -C -d f; hexdump -cc f
hexdump -n x f; hexdump -s x f; hexdump -s 100 f; hexdump -s 3 -n 4 a b; hexdump -n 0 a
hexdump -C nope a nope2; hexdump nope; hexdump -f nope a
echo '"%d\n"' > ff; hexdump -f ff a
head -c 100 /dev/zero > z; hexdump z; hexdump -C z; hexdump -v z; hexdump -e '16/1 "%02x" "\n"' z; hexdump -n 40 -x z
hd f; hd -n 3 f; hd -v a
"""


@pytest.mark.parametrize("script", HEXDUMP.strip().splitlines())
def test_hexdump_in_scripts(script: str) -> None:
    """Output, messages and status of a script are those of the machine's tools."""
    same_as_bash(script)


FILES = r"""
find a -printf '%Tc|%Tr|%TS|%T+|%TX\n'
find a -printf '%05s|%+s|%05m|%03d|%+d|%-4d|%05k|% d|%5.2f|\n'
ln -s . d/loop; find -L d | sort; find -L d -depth | sort
find a b -files0-from n; find -files0-from nope; printf 'd\0a\0' > z; find -files0-from z | sort
printf 'a\0\0nope\0b' > z; find -files0-from z -name '[ab]'; find -files0-from empty
find d -perm +111
gzip -k d/link; ln a hard; gzip a; gzip -f a; ls; gzip -c d/link | gzip -dc; gzip -r d; ls d
ln a h1; ln a h2; gzip h1; bzip2 h1; xz h1; xz -k h1; bzip2 d/link; xz d/link; ls d; bzip2 -c d/link | bzcat
gzip -N a; mv a.gz z.gz; touch z.gz; gunzip -N z.gz; ls; stat -c %Y a; gzip -k a; stat -c %Y a.gz
gzip -N a; mv a.gz d/z.gz; gunzip -kN d/z.gz; ls d; gzip -n b; mv b.gz y.gz; gunzip -N y.gz; ls
tar tf empty; tar xf empty; tar tf /dev/null
tar cf x.tar a -b 1; wc -c < x.tar; tar cf x.tar a --record-size=2048; wc -c < x.tar; tar cf x.tar a -b x
tar cf x.tar --owner=0 --group=0 --mtime=@0 a; tar tvf x.tar
tar cf x.tar a b n; tar --delete -f x.tar b; tar tf x.tar; tar --delete -f x.tar nope; tar xOf x.tar n
tar cf x.tar a; tar cf y.tar b; tar Af x.tar y.tar; tar tf x.tar; tar xOf x.tar b
tar cf x.tar d; tar tf x.tar '*.c'
zip -q x.zip a; zip -u x.zip a; zip -f x.zip a b; zip -u x.zip a b; touch a; zip -u x.zip a b; zip -f x.zip a
printf 'a\nb\n' | zip w.zip -@; zip -T w.zip; zip -T v.zip a; zip -T nope.zip; zip -qT w.zip
echo hi | zip y.zip a - ; unzip -Z1 y.zip; unzip -p y.zip -; echo ho | zip y.zip -; unzip -p y.zip -
column -t -O a t; column -t -N x,y,z -O z,x t; column -t -N x,y,z -H q t; column -t -R 1,x t
rev nope a; rev -0 a; rev u b
n=$(printf 'x%.0s' $(seq 150)); touch $n; tar cf x.tar --format=ustar $n a; tar tf x.tar
"""


@pytest.mark.parametrize("script", FILES.strip().splitlines())
def test_find_gzip_and_tar_in_scripts(script: str) -> None:
    """Output, messages and status of a script are those of the machine's tools."""
    same_as_bash(script)


SED = r"""
sed -b p b; sed --binary -n 1p a
sed --posix 'N;N;s/\n/+/g' a; POSIXLY_CORRECT=1 sed N a; sed --posix '$!N' a
sed -n --follow-symlinks -i 'p;p' d/link; ls -l d | cut -c1; cat d/top.c; sed -i 's/t/T/' d/link; ls -l d | cut -c1
cat a | sed '1r /dev/stdin' b
"""


@pytest.mark.parametrize("script", SED.strip().splitlines())
def test_sed_in_scripts(script: str) -> None:
    """Output, messages and status of a script are those of the machine's tools."""
    same_as_bash(script)


PATCH = r"""
diff -u a b > p; patch -R a < p; cat a; ls a.rej
diff -u a b > p; patch -R -t a < p; cat a
diff -u a b > p; patch -R -N a < p; cat a
diff -u a b > p; patch -R -f a < p; cat a
diff -u a b > p; patch a < p; patch -R a < p; cat a; patch -R a < p
"""


@pytest.mark.parametrize("script", PATCH.strip().splitlines())
def test_patch_in_scripts(script: str) -> None:
    """Output, messages and status of a script are those of the machine's tools."""
    same_as_bash(script)


NUMBERS = r"""
bc <<< 'scale=-1; scale; 1/3'
bc <<< 'ibase=1; 101'
bc <<< 'ibase=40; 11'
bc <<< 'obase=1; 5'
bc <<< 'ibase=-3; obase=-5; 10; obase'
"""


@pytest.mark.parametrize("script", NUMBERS.strip().splitlines())
def test_bc_goes_on_with_the_nearest_scale_or_base(script: str) -> None:
    """A scale or a base that there is not becomes the nearest, with a warning, and the program goes on."""
    same_as_bash(script, stderr=False)


CMP = r"""
cmp -n x a b; cmp -ls a b; cmp -i x a b; cmp -n 1k a b; cmp -n 2 a b; cmp -i 1:x a b
"""


@pytest.mark.parametrize("script", CMP.strip().splitlines())
def test_cmp_in_scripts(script: str) -> None:
    """Output, messages and status of a script are those of the machine's tools."""
    same_as_bash(script)
