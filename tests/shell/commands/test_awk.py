# ruff: noqa: W291 - programs stand as people write them
"""awk beside GNU awk."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from example_counts import examples
from harness import NativeProcess, ours, real
from hypothesis import given, settings
from hypothesis import strategies as st

LINES = b"""alice 30 1500.50 paris
bob 25 2300 london
carol 35 1800.75 paris
dave 28 2100 berlin

eve,with,commas 1e3 0x10 +5
  leading  and   trailing  
tab\there a:b:c
caf\xc3\xa9 na\xc3\xafve 10 9
last 007 .5 -3"""

PROGRAMS = r"""
BEGIN {printf "%d|%.0d|%x|%#x|%#o|%5.0d|%+.0d|%i|%.3d|%#.0o\n", 0, 0, 0, 0, 0, 0, 0, 0, 5, 8}
{$2 = "x"; OFS = ":"; print; $1 = $1; print; OFS = " "}
BEGIN {IGNORECASE = 1; FS = "a"; $0 = "bAcad"; print $2, index("xABC", "b"), split("aXbxc", p, "x")}
BEGIN {c = "sort -r"; print "b" |& c; print "a" |& c; close(c, "to"); while ((c |& getline x) > 0) print "got", x}
{n[$NF]++; m = $2 > m ? $2 : m; if (NR > 3) exit; last = $1} END {for (k in n) s += n[k]; print s, m, last}
{for (i = 1; i <= NF; i++) w = w $i; if (/eve/) {print w; w = ""}} END {print length(w), i}
{print}
{print $1}
{print $2, $1}
{print $NF}
{print $(NF-1)}
{print NF, NR, FNR, FILENAME}
NR==2
NR==2,NR==4
NR==2{print "two"}NR==3{print "three"}
/paris/
!/paris/
/alice/,/carol/{print NR": "$0}
$2 > 28
$2 == 30
$2 ~ /^2/
$2 !~ /^2/
$4 == "paris" {s += $3} END {print s}
{s += $2} END {print s, s/NR}
END {print NR, $0, NF}
BEGIN {print "start"} {n++} END {print n}
BEGIN {print 1, 1.0, 0.1, 1e6, 1e-5, 100000000, 1e20, 123456.789, 1/3, -0, 3.0}
BEGIN {print 2^53, 2^53+1, 2^31, 1e15, 1e16, 1e17, 1e18, 0.1+0.2}
BEGIN {print 1e300*1e300, -1e300*1e300; x = 1e300*1e300; print x - x}
BEGIN {CONVFMT="%d"; a[12.7]=1; for (k in a) print k; x = 3.9 ""; print x}
BEGIN {OFMT="%.2f"; print 3.14159, 3, 3.14159 ""; printf "%s\n", 3.14159}
BEGIN {print 1==1.0, "a"<"b", "10"<"9", 10<9, "10"<9, x==0, x==""}
BEGIN {print 1 " " -1, 2^3^2, -2^2, 2**3, 5%3, -5%3, 7/2, 1-1-1, 2*3+4, 2+3*4}
BEGIN {x=5; x^=2; print x++ + ++x, x; print !x, !"", !"a", - "3x", +"4y"; print (1>2)?"y":"n"}
BEGIN {x += 3; x -= 1; x *= 5; x /= 4; x %= 2; print x; y = z = 4; print y z}
BEGIN {a = "x"; b = a++; print a, b; c = "3x"; print c + 0, c c}
BEGIN {print length("hello"), length(), length, length(12345), length(x)}
{print length, length($1)}
BEGIN {print substr("hello",2,3), substr("hello",0), substr("hello",-1,3), substr("hello",2), substr("hello",10) "|", substr("hello",2,-1) "|", substr("hello", 1.5), substr("hello",2,1.9)}
BEGIN {print index("foobar","bar"), index("foo","x"), index("foo","")}
BEGIN {print toupper("abcÉé"), tolower("ABCÉ")}
BEGIN {print sprintf("%5.2f|%-5d|%05d|%s|%c|%c|%x|%o|%e|%g|%%", 3.14159, 42, 42, "str", 65, "hello", 255, 8, 12345.678, 0.0001)}
BEGIN {printf "%d %d %i\n", 3.9, -3.9, "12abc"; printf "%s %s\n", "a", "b"; printf("%s\n", "paren")}
BEGIN {printf "%5s|%-5s|%.2s|%5.1s|\n", "abc", "abc", "abc", "abc"}
BEGIN {printf "%+d % d %05.1f %#x %#o %X %E %G\n", 5, 5, 3.14159, 255, 8, 255, 12345.678, 1e-10}
BEGIN {printf "%*d|%-*d|%.*f\n", 5, 42, 5, 42, 2, 3.14159}
BEGIN {printf "%c%c%c", 256, "", "é"; printf "%5c|%-5c|\n", "x", "y"}
BEGIN {printf "%s"}
BEGIN {printf "%d %s\n", 1}
BEGIN {printf "no newline"}
BEGIN {printf "%s %d\n", "x", "0x1A"; print "0x1A"+0, 0x1A, 011, 1e3, .5, 5.}
BEGIN {printf "%i %5d|%-5i|%u\n", 2147483648, 1e10, -7, 3}
BEGIN {printf "%x %o %u %d\n", -1, -1, -1, 1e30}
BEGIN {printf "%05s|%-05d|% 5d|%+.3e\n", "ab", 42, 42, 12345.6789}
BEGIN {n = split("a:b:c", arr, ":"); print n, arr[1], arr[3]; print split("", e), length(e)}
BEGIN {n = split("  a b  c ", arr); print n, arr[1] arr[2] arr[3]}
BEGIN {n = split("a1b22c", arr, /[0-9]+/, seps); print n, arr[3], seps[1], seps[2]}
BEGIN {n = split("abc", arr, ""); print n, arr[1], arr[3]}
BEGIN {n = split("a.b.c", arr, "."); print n; n = split("a|b", arr, "|"); print n; n = split("a b", arr, / /); print n}
{n = gsub(/a/, "<&>"); print n, $0}
{sub(/[aeiou]/, "*"); print}
{gsub(/[aeiou]/, "\\&"); print}
{gsub("a", "[&&]", $1); print}
{gsub(/^/, ">"); print}
{gsub(/$/, "<"); print}
NR < 8 {gsub(/x*/, "-"); print} NR < 3 {gsub(//, "."); print}
{gsub(/ +/, " "); print}
BEGIN {s = "aaa"; print gsub(/a/, "b", s), s; print sub(/z/, "y", s), s}
BEGIN {s = "a.b.c"; gsub(".", "x", s); print s; t = "a.b"; gsub("[.]", "x", t); print t; u = "a+b"; gsub(/\+/, "-", u); print u}
BEGIN {s = "hello"; gsub(/l/, "\\\\&", s); print s; t = "a/b"; gsub("/", "\\/", t); print t}
BEGIN {print gensub(/(a)(b)/, "\\2\\1", "g", "abab"), gensub(/a/, "x", 2, "aaa"), gensub(/a/, "[&]", "G", "banana"), gensub(/(.)/, "<\\0>", 1, "xyz")}
{print gensub(/(\w+) (\w+)/, "\\2 \\1", 1)}
BEGIN {print match("foobar", /o+/), RSTART, RLENGTH; print match("x", /y/), RSTART, RLENGTH}
BEGIN {if (match("key=val", /(\w+)=(\w+)/, m)) print m[0], m[1], m[2], m[1, "start"], m[2, "length"]}
{a[$4]++} END {for (k in a) n++; print n; print a["paris"], ("x" in a), ("paris" in a)}
{a[NR] = $1} END {for (i = NR; i > 0; i--) printf "%s ", a[i]; print ""}
BEGIN {a["x","y"] = 1; for (k in a) {split(k, p, SUBSEP); print p[1], p[2]}; print (("x","y") in a), ("x","z") in a}
BEGIN {a[1]; delete a[1]; print length(a); a[1]; a[2]; delete a; print length(a)}
BEGIN {a[1][2] = 3; a[1][3] = 4; for (k in a[1]) s += a[1][k]; print s, length(a[1]), isarray(a[1]), isarray(a[1][2])}
BEGIN {if (!(3 in a)) print "no"; if (a[3] == "") print "empty"; print length(a)}
BEGIN {while (i < 3) {i++; if (i == 2) continue; print i}}
BEGIN {do {print i++} while (i < 3)}
BEGIN {for (;;) {if (++i > 3) break; print i}}
BEGIN {for (i = 0; i < 5; i++) {if (i == 1) continue; if (i == 4) break; print i}}
BEGIN {for (i = 0; i < 2; i++) for (j = 0; j < 2; j++) print i, j}
BEGIN {if (0) print "a"; else if (1) print "b"; else print "c"}
BEGIN { if (1) ; else print "x"; print "y" }
BEGIN {switch (3) {case 1: print "one"; break; case 3: print "three"; case 4: print "four"; break; default: print "d"}}
BEGIN {switch ("abc") {case /b/: print "re"; break; default: print "d"}}
BEGIN {for (i = 0; i < 3; i++) switch (i) {case 1: continue; default: print i}}
{if (NR == 2) next; print} 
{if (NR == 3) exit 5; print} END {print "end"}
BEGIN {exit} END {print "end"}
BEGIN {exit 3}
END {exit 4}
{while (1) {if (NR == 2) next; break}; print NR}
NR==2 {nextfile} {print}
function f(x) {return x * 2} BEGIN {print f(4), f("3")}
function fact(n) {return n <= 1 ? 1 : n * fact(n - 1)} BEGIN {print fact(5), fact(20)}
function fib(n) {if (n < 2) return n; return fib(n-1) + fib(n-2)} BEGIN {print fib(15)}
function fill(a, n,   i) {for (i = 1; i <= n; i++) a[i] = i * i} BEGIN {fill(sq, 5); print sq[5], length(sq), i}
function g(a) {a["k"] = 1} function h(a) {g(a)} BEGIN {h(z); print z["k"]}
function p(s) {print "in", s; return s "!"} BEGIN {x = p("a") p("b"); print x}
function noret() {} BEGIN {x = noret(); print x "|" x + 0 "|"}
function swap(a, i, j,   t) {t = a[i]; a[i] = a[j]; a[j] = t} BEGIN {a[1]="x"; a[2]="y"; swap(a, 1, 2); print a[1] a[2]}
function len(arr,  n, k) {for (k in arr) n++; return n + 0} BEGIN {print len(empty)}
function r(n) { if (n > 0) { print n; r(n-1) } } BEGIN { r(3) }
BEGIN {FS=":"} {print $2}
BEGIN {FS=","} {print $2, NF}
BEGIN {FS="[ :]"} {print $2, NF}
BEGIN {FS="\t"} {print $2}
BEGIN {FS="a"} {print NF}
BEGIN {FS=""} {print $2, NF}
BEGIN {FS="|"} {print NF}
BEGIN {FS="."} {print NF, $1}
BEGIN {OFS="-"} {$1=$1; print}
BEGIN {OFS="-"} {print $1, $2}
{$2 = "X"; print; print NF}
{$(NF+2) = "end"; print; print NF}
{NF = 2; print; print $0}
{NF += 1; $NF = "n"; print}
{$0 = "a b c"; print $2, NF}
{$3 = ""; print; print NF}
{$1 = ""; print}
{$2++; print $2; $2 += 5; print}
{$5 = "x"} 1
{x = $2; $2 = 0; print x, $2}
BEGIN {RS=""} {print NR": "$1, NF}
BEGIN {RS=";"} {print NR": "$0}
BEGIN {RS="[ \n]+"} {print NR": "$0, RT == "\n"}
BEGIN {RS="a"} {print NR": "$0}
BEGIN {RS="";FS=":"} {print NF; print $1}
BEGIN {RS="\n\n"} END {print NR}
BEGIN {RS="-?[0-9]+$"} {print NR": "$0}
BEGIN {RS="\r?\n"} {print NR": "$0}
BEGIN {RS="(st|last) "} {print NR": "$0}
BEGIN {ORS="|"} {print $1}
BEGIN {FIELDWIDTHS="2 3 4"} {print $1 "," $2 "," $3}
BEGIN {FPAT="[a-z]+"} {print $1, $2, NF}
BEGIN {FPAT="([^,]+)|(\"[^\"]+\")"} {print $2}
BEGIN {IGNORECASE=1} /PARIS/ {print $1}
BEGIN {IGNORECASE=1; print match("ABC", "b"), ("a" ~ /A/), toupper("x") == "x"}
BEGIN {while ((getline line < "data") > 0) print "got " line; close("data"); getline < "data"; print $0, NR}
BEGIN {print (getline line < "nofile")}
BEGIN {"echo hi" | getline x; print x; "echo a b" | getline; print $2, NR}
BEGIN {while (("printf '1\n2\n3\n'" | getline n) > 0) s += n; print s}
BEGIN {cmd = "cat data"; while (cmd | getline l) print "l:" l; close(cmd)}
NR==1 {getline; print "after getline", $0, NR} NR==3 {getline x; print x, $0, NR}
{getline nxt; print $1, nxt}
END {print getline, $0}
BEGIN {print "b\na" | "sort"; close("sort"); print "done"}
BEGIN {print "x" > "out"; print "y" > "out"; close("out"); while ((getline l < "out") > 0) print l; close("out"); print "z" >> "out"; close("out"); while ((getline l < "out") > 0) print l}
BEGIN {printf "%s\n", "to file" > "out2"; close("out2"); getline x < "out2"; print x}
BEGIN {print "err" > "/dev/stderr"; print "out" > "/dev/stdout"; print "x" | "cat 1>&2"}
BEGIN {r = system("exit 3"); print r; system("echo sys"); print "after"}
BEGIN {printf "a"; system(""); printf "b\n"}
BEGIN {print close("nothing"); print fflush()}
BEGIN {print ENVIRON["LC_ALL"], ARGC, ARGV[1]}
BEGIN {print and(12, 10), or(12, 10), xor(12, 10), lshift(1, 4), rshift(16, 2), compl(0)}
BEGIN {print strtonum("0x1A"), strtonum("017"), strtonum("12"), strtonum("1e2"), strtonum(" 0x10")}
BEGIN {print int(3.9), int(-3.9), int("4abc"), sqrt(16), exp(0), log(1), sin(0), cos(0), atan2(0, -1), exp(1)}
BEGIN {print log(0), -log(0), exp(1000)}
BEGIN {print log(-1)}
BEGIN {print sqrt(-1)}
BEGIN {print srand(5), srand(); srand(1); a = rand(); srand(1); b = rand(); print a == b, a < 1, a >= 0}
BEGIN {print strftime("%Y-%m-%d %H:%M:%S", 86400, 1), mktime("1970 01 02 00 00 00"), strftime("%j", 0)}
BEGIN {a[1]="c"; a[2]="a"; a[3]="b"; n = asort(a); for (i = 1; i <= n; i++) printf "%s ", a[i]; print n}
BEGIN {a["z"]=1; a["x"]=2; n = asorti(a, b); for (i = 1; i <= n; i++) printf "%s ", b[i]; print ""}
BEGIN {a[1]=10; a[2]=9; a[3]="b"; n = asort(a, b, "@val_num_desc"); for (i = 1; i <= n; i++) printf "%s ", b[i]; print ""}
function cmp(i1, v1, i2, v2) {return v2 - v1} BEGIN {a[1]=3; a[2]=9; a[3]=5; asort(a, b, "cmp"); print b[1], b[2], b[3]}
BEGIN {PROCINFO["sorted_in"]="@ind_str_asc"; a["b"]; a["a"]; a["c"]; for (k in a) printf "%s ", k; print ""}
BEGIN {PROCINFO["sorted_in"]="@val_num_desc"; a["b"]=2; a["a"]=10; a["c"]=5; for (k in a) print k, a[k]}
BEGIN {PROCINFO["sorted_in"]="@ind_num_asc"; a[10]; a[9]; a[100]; for (k in a) printf "%s ", k; print ""}
BEGIN {print typeof(x), typeof(1), typeof("a"), typeof(a[1]), typeof($1); y[1]; print typeof(y)}
{print typeof($2)}
BEGIN {n = patsplit("a1b2c", p, /[0-9]/, s); print n, p[1], p[2], s[0], s[1], s[2]}
{print ($1 < $2), ($2 < $3), ($2 == $3), ($3 > 5), $2 == "30", $2 == 30.0}
{x = $2; y = $3; print (x < y), (x == 30), (x "" < y "")}
{if ($2) print "true"; else print "false"}
$2
$1 == 0
{print -$2, +$2, !$2, $2 * 2, $2 "" + 1}
{print $1 > "/dev/stdout"}
BEGIN { print length("a\tb"), "a\"b", "a\\b", "\x41\101", "a\/b" }
BEGIN { print "\q" }
BEGIN { print /x/ ? "y" : "n"; $0 = "x"; print /x/ ? "y" : "n" }
BEGIN { print "a" "b" == "ab", 1 + 1 "x", "x" 1 + 1 }
BEGIN { print 1, 2 > "/dev/stderr" }
BEGIN { print(1, 2); print (1)(2); print (1) + 2; print (1, 2) in a }
BEGIN { $3 = "c"; print; print NF; $0 = "x y"; print $1 $2 }
BEGIN { a = 1; b = 2; print a b, a+b, a-b, a " " b; print a, -b; print a -b }
BEGIN { x["a"] = 1; y = "a" in x; print y, !("b" in x) }
BEGIN { print 10 % 3, -10 % 3, 10.5 % 3, 2 ** 0.5, 2 ^ -1, 0 ^ 0 }
BEGIN { i = 5; print i++ i++, i; print i-- - --i }
BEGIN { print substr("hello", 2, 3) substr("x", 1) ; print index("a.b", ".") }
BEGIN { print 1 < 2 ? "lt" : "ge"; x = 1 < 2; print x }
BEGIN { print !1 + 1, !0 + 1, 1 - -1, 2 - - 2, - -3 }
BEGIN { print "A" < "a", "a" < "B", "é" > "z", "abc" < "abd", "" < "a" }
BEGIN { if (!("x" in ENVIRON)) print "unset" ; print length(ENVIRON) > 0 }
BEGIN { while ("echo a; echo b" | getline x) n++; print n }
BEGIN { "date +%Y" | getline y; print (y > 2000) }
BEGIN { getline; print "first: " $0; getline x; print "x: " x; print NR }
BEGIN { x = "A"; printf x "\n"; printf("%s %s\n", x, x) ; printf("%s\n", x) > "/dev/stdout" }
BEGIN { s = sprintf("%s", 0.1 + 0.2); print s, 0.1 + 0.2 == 0.3, 1e3 == 1000 }
BEGIN { a["1"] = "x"; print a[1], a[1.0], a["01"] }
BEGIN { a[0.1 + 0.2] = 1; for (k in a) print k }
BEGIN { regex = "^a.c$"; print ("abc" ~ regex), ("abcd" ~ regex), "a.c" ~ "a\\.c" }
BEGIN { print "a\nb" ~ /a.b/, "ab" ~ /a$/, "a\nb" ~ /^b/ }
BEGIN { print match("aaa", /a{2}/), RLENGTH; print "ab" ~ /a{1,2}b/, "a{1}" ~ /a\{1\}/ }
BEGIN { print match("xabcabcy", /(abc)+/), RLENGTH; print match("foobar", /foo|foobar/), RLENGTH }
BEGIN { print "foo.bar" ~ /\./, "foo" ~ /\<foo\>/, "a b" ~ /\yb/, "x" ~ /[[:alpha:]]/, "/" ~ /[/]/ , "a/b" ~ /a\/b/ }
/^[[:space:]]*$/ {print NR ": blank"}
NR % 2 == 0 {print NR}
NR > 1 && NR < 4 || NR == 7
length > 20
length($0) < 20 {print length($0)}
END { print $1, $NF }
{ sum[$4] += $3; cnt[$4]++ } END { n = asorti(sum, k); for (i = 1; i <= n; i++) printf "%-10s %8.2f %d\n", k[i], sum[k[i]], cnt[k[i]] }
{ line[NR] = $0 } END { for (i = NR; i >= 1; i--) print line[i] }
!seen[$4]++
{ $1 = $1 } 1
{ max = $2 > max ? $2 : max } END { print max }
{ for (i = NF; i > 0; i--) printf "%s%s", $i, (i > 1 ? " " : "\n") }
{ n = split($0, w, " "); for (i = 1; i <= n; i++) count[w[i]]++ } END { print length(count) }
BEGIN { printf "%s %s %s\n", "a", "b" , "c" , "extra" }
BEGINFILE { print "bf", FILENAME } ENDFILE { print "ef", FNR } { n++ } END { print n }
BEGIN{a="10";b=9;print (a<b),(a+0<b)}
BEGIN { print substr("héllo", 2, 2), length("héllo"), index("héllo", "l"), toupper("é") }
BEGIN { printf "%5s|%-6s|%.2s|%c\n", "é", "né", "éàü", "éa" }
{print $2+$3*2 ; }
BEGIN { print toupper(substr("abc", 1, 1)) substr("abc", 2) }
BEGIN { print -3 % 2, 3 % -2, 5.5 % 2.5 ; print 1e6 * 1e6, 1e12 "" , 123456789 * 1000 }
BEGIN { print 0.1, 1.10, 100.0, 1e-300, 12345678.9, 1234567.89 "", 0.000001, 1e5 + 0.5 }
BEGIN { print index("abc", "c") * 2 ; print "x" > "/dev/null" ; print 3 " items" }
BEGIN { print }
BEGIN { print "unterminated }
BEGIN { print 1 +
{print
BEGIN{print 1,}
BEGIN{f(1)}
BEGIN{x=1; x[1]=2}
function f(a) {return a} BEGIN {print f(1, 2)}
BEGIN{return 1}
BEGIN{next}
BEGIN{print substr(1)}
BEGIN{print substr("x" }
BEGIN { if (1 print "x" }
/(a/
/[a/
BEGIN { x = "a("; print "b" ~ x }
BEGIN { x = 0; print 1 / x }
BEGIN { x = 0; print 1 % x }
BEGIN { print $(-1) }
{ print nosuch($1) }
"""

PROGRAMS_OF_MANY_LINES = [
    r"""BEGIN {
  # a comment
  x = 1 + \
      2
  print x ; # another

  if (x)
    print "yes"
  else
    print "no"
  while (x > 0)
    x--
  print x
}""",
    r"""function f(a,
           b) {
  return a + b
}

BEGIN { print f(1,
                2)
  y = 1 &&
      0
  print y
}""",
]

COMMANDS = [
    ["-F:", "{print $2}"], ["-F,", "{print $2}"], ["-F", "\\t", "{print $2}"], ["-Ft", "{print $2}"],
    ["-F", " ", "{print $2}"], ["-F[0-9]+", "{print $2}"], ["-F", "|", "{print NF}"], ["-F.", "{print NF}"],
    ["-v", "x=5", "BEGIN{print x+1, x}"], ["-vx=a\\tb", "BEGIN{print x}"], ["-v", "n=10", "$2 > n"],
    ["-v", "OFS=-", "{print $1,$2}"], ["-v", "x=3", "-v", "y=4", "BEGIN{print x*y, x<10}"],
    ["{print x, $1}", "x=1", "data", "x=2", "data"], ["{print FILENAME, FNR, NR}", "data", "-"],
    ["END{print x}", "data", "x=9"], ["-f", "program"], ["-f", "program", "data"],
    ["-f", "program", "-f", "more"], ["-e", "BEGIN{print 1}", "-e", "BEGIN{print 2}"],
    ["NR==FNR{a[$1]=$2;next} $1 in a{print $1,a[$1],$2}", "data", "data"],
    ["--", "BEGIN{print 1}"], ["BEGIN{for(i=0;i<ARGC;i++)print i, ARGV[i]}", "a", "b=c", "-d"],
    ["BEGIN{ARGV[1]=\"\"}{print}", "nofile", "data"], ["BEGIN{ARGV[1]=\"data\"; ARGC=2}{print}"],
    ["{print}", "nofile"], ["{print}", "data", "nofile"], ["-f", "nofile"], ["-v", "1x=3", "BEGIN{}"],
    ["--version"], ["BEGINFILE{print FILENAME} ENDFILE{print FNR}", "data", "data"],
    ["{nextfile; print} END{print NR}", "data", "data"], ["{print > (\"out.\" $1)}", "data"],
    ["--field-separator=:", "{print $1}", "data"], ["--assign", "x=1", "BEGIN{print x}"],
]  # fmt: skip


def _programs() -> list[str]:
    return [*PROGRAMS.strip("\n").split("\n"), *PROGRAMS_OF_MANY_LINES]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "data").write_bytes(b"k1 v1\nk2 v2\nk3 v3\n")
    (tmp_path / "program").write_bytes(b'# comment\nBEGIN { FS = ":" }\n{ print NF\n}\n')
    (tmp_path / "more").write_bytes(b"END { print NR }\n")
    return tmp_path


def _check(arguments: list[str], place: Path) -> None:
    expected = real(["gawk", *arguments], LINES, place)
    got = ours(["gawk", *arguments], LINES, place)
    if expected.status and b"^" in expected.stderr:
        # A syntax error: where the parser notices it may differ.
        assert got.status == expected.status
        assert got.stderr.startswith(b"gawk: ")
        return
    assert got[:2] == expected[:2]
    if b"cmd. line:" not in expected.stderr:
        assert got.stderr == expected.stderr
    else:
        assert bool(got.stderr)
    assert ours(["gawk", *arguments], LINES, place, chunk=5)[:2] == got[:2]


@pytest.mark.parametrize("program", _programs())
def test_awk_programs_do_what_gawk_does(program: str, place: Path) -> None:
    """Output and status of each program are gawk's, messages of the system too."""
    _check([program], place)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_awk_command_lines_do_what_gawk_does(arguments: list[str], place: Path) -> None:
    """Options, assignments among the operands and files are taken as gawk takes them."""
    if arguments == ["--version"]:
        assert ours(["gawk", *arguments]).stdout.startswith(b"GNU Awk")
        return
    _check(arguments, place)


_ODD_NUMBERS = b"1\n2.5\n\n-3 7\n1e3x\nnan\n+nan\n0x10\n1_000\n +5 6\n-inf 1,2\n1e999\n,-0\n.5,.25\n"


@pytest.mark.parametrize(
    "numbers", [_ODD_NUMBERS, b"0.1\n0.2\n\n0.7\n" * 9, b"1,2\n3\n4,x,5\n", b"a 1\r\n2\x1c3\n", b""]
)
@pytest.mark.parametrize("options", [["-F", " "], ["-F,"], ["-F", "[ ,]"], ["-v", "s=3a"]], ids=" ".join)
@pytest.mark.parametrize(
    "program",
    [
        '{s += $1} END {printf "%.17g %s\\n", s, s}',
        '{s += $2; print $1, s} END {printf "%.17g\\n", s}',
        "{s -= $1 * $2; n++; last = $2 $1} END {print s, n, last, NR}",
        '{s += $1} END {printf "%.17g\\n", f(s)} function f(x) {return x}',
        "{a[$1] += $2; s += $1} END {print s, length(a)}",
    ],
)
def test_numbers_of_whole_columns_are_those_of_each_line(
    program: str, options: list[str], numbers: bytes, tmp_path: Path
) -> None:
    """What is calculated with fields of many lines at once is what gawk gets line by line, to the last bit."""
    arguments = ["gawk", *options, program]
    assert ours(arguments, numbers, tmp_path)[:2] == real(arguments, numbers, tmp_path)[:2]


def test_awk_lets_the_reader_run_when_its_output_is_full() -> None:
    """An endless loop of prints, also in a function, stops when the output is full."""
    for program in ('BEGIN { while (1) print "y" }', 'function f() { while (1) print "y" } BEGIN { f() }'):
        process = NativeProcess(["awk", program], limit=1)
        running = process.start()
        next(running)
        assert process.stdout.value().startswith(b"y\ny\n")
        running.close()


def test_awk_keeps_bytes_that_are_not_utf8() -> None:
    """Input that is not UTF-8 comes out as it was."""
    data = bytes(range(1, 256))
    assert ours(["awk", "{print}"], data + b"\n").stdout == data + b"\n"


_NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False, width=64),
    st.integers(-(10**18), 10**18).map(float),
    st.floats(-1000, 1000).map(lambda x: round(x, 3)),
)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(_NUMBERS, min_size=1, max_size=8), st.sampled_from(["%.6g", "%.3f", "%d", "%e", "%.10g"]))
def test_numbers_are_printed_as_gawk_prints_them(numbers: list[float], template: str) -> None:
    """Numbers become the same text in print, in concatenations and through formats."""
    if shutil.which("gawk") is None:
        pytest.skip("gawk is not installed")
    data = "\n".join(repr(number) for number in numbers).encode() + b"\n"
    program = 'BEGIN { CONVFMT = f } { x = $1 + 0; y = x ""; print x, y, x * 3, x / 7; printf f "|%s|%d\\n", x, x, x }'
    argv = ["gawk", "-v", f"f={template}", program]
    assert ours(argv, data)[:2] == real(argv, data)[:2]


_OPERANDS = st.sampled_from(["1", "2.5", '"3"', '"abc"', '"10"', "x", "$1", "$2", "$9", '""', "0", "-4"])
_OPERATORS = st.sampled_from(
    ["+", "-", "*", "%", "<", "<=", "==", "!=", ">", ">=", " ", "&&", "||", "~", "^"]
)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(_OPERANDS, _OPERATORS), min_size=1, max_size=5), _OPERANDS)
def test_expressions_are_what_gawk_makes_of_them(parts: list[tuple[str, str]], last: str) -> None:
    """Precedence, conversions and comparisons of generated expressions are gawk's."""
    expression = "".join(f"({operand}) {operator} " for operand, operator in parts) + f"({last})"
    argv = ["gawk", f'{{ y = ({expression}); print y; x = 7; print y + 0, y "" }}']
    expected = real(argv, b"5 5.0\n")
    got = ours(argv, b"5 5.0\n")
    # gawk folds constants before it runs: then an error of arithmetic is one of the program.
    assert got.stdout == expected.stdout
    assert bool(got.status) == bool(expected.status)


def test_programs_include_others(tmp_path: Path) -> None:
    """@include puts another file's program in its place, once, with or without its extension."""
    (tmp_path / "lib.awk").write_text("function f(x) { return x * 2 }\n")
    (tmp_path / "main.awk").write_text('@include "lib.awk"\n@include "lib"\nBEGIN { print f(4) }\n')
    for argv in (["-f", "main.awk"], ['@include "lib"\nBEGIN { print f(5) }'], ['@include "none"']):
        expected, got = real(["gawk", *argv], cwd=tmp_path), ours(["gawk", *argv], cwd=tmp_path)
        assert got[:2] == expected[:2]
