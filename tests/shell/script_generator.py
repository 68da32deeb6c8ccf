"""Generates small scripts of all kinds of commands, to be run in several shells that should agree.

A script ends by itself: iterations and calls are counted in `R`. What differs from run to run (times, process
numbers) is left out, and so are texts in expressions that are none: bash has done one half of such an
expression when it finds the other to be wrong.
"""

from __future__ import annotations

import random

__all__ = ["ScriptGenerator"]

SETUP = r"""shopt -s extglob
i=3 j=0 n=7 s=abc t='two  words' e= z=x1 q='n+1' R=0 w=0
a=(4 "5 5" '' 6) b=([2]=x [5]='y z'); declare -A m=([k]=v [k1]=2)
declare -l L=ABc; declare -u U=abC; declare -n ref=s; declare -n aref=a; readonly RO=ro
"""
FINISH = r"""
echo "end $? $R $_"
for k in i j n s t e z q a b L U w; do declare -p $k; done
for k in k k0 k1 k2 k3 abc x; do echo "$k:${m[$k]-}"; done
"""
NUMBERS = [
    "0", "1", "7", "3", "-3", "010", "0x1F", "2#101", "36#z", "64#@", "i", "j", "n", "$i", "${n}", "$j", "q", "$q",
    "${#s}", "${#a[@]}", "m[k1]", "9223372036854775807", "-9223372036854775808", "i++", "j--", "--j", "++n", "n++",
    "m[k1]++", "$#", "$?", "w", "(m[k1]=i)",
]  # fmt: skip
OPERATORS = [
    "+", "-", "*", "/", "%", "<", ">", "==", "!=", "<=", ">=", "&&", "||", "&", "|", "^", "<<", ">>", ",", "**",
]  # fmt: skip
EXPANSIONS = [
    "$i", "$j", "$n", "$s", "$t", "$e", "$z", "$u", "$L", "$U", "$ref", "$i", "$s", "$t", "${i}", "${u:-def}",
    "${e:-$i}", "${u-a b}", "${s:+alt}", '${e:+"p  q"}', "${s+$z}", "${u:=dflt}", "${#t}", "${s:1}", "${s:i & 1}",
    "${t: -1}", "${t:1:2}", "${t:0:-1}", "${s#*b}", "${s##a*}", "${t%?}", "${t%%' '*}", "${s%[a-c]}", '${s%"$s"}',
    "${s/b/X}", "${t//[a-z]/}", "${s/#a/$i}", "${s/%c/<&>}", "${t//o/\\&}", "${s^^}", "${U,,}", "${s^}", "${s^^[ab]}",
    "${s@Q}", "${s@U}", "${s@A}", "${t@a}", "${!z-}", "${!ref}", "${a[1]}", "${a[i & 3]}", "${a[-1]}", "${b[2]}",
    "${m[k]}", "${m[$s]}", "${m[k$i]}", "$a", "${aref[1]}", "${a[@]}", "${a[*]}", "${b[@]}", "${!a[@]}", "${!b[@]}",
    "${#a[@]}", "${#b[*]}", "${#m[@]}", "${a[@]:1}", "${a[@]:1:2}", "${b[@]: -1}", "${a[@]/5/X}", "${a[@]%6}",
    "${a[@]@Q}", "$@", "$*", "$#", "$1", "${2:-x}", "${@:2}", "$?", "$_",
    "${FUNCNAME-}", "${BASH_REMATCH[1]-}",
]  # fmt: skip
CONSTANTS = [
    "x",
    "''",
    "5",
    "007",
    "'a\\b'",
    "$'a\\nb'",
    "*.none",
    "é",
    "a=b",
    "\\*",
    "0x10",
    "a${i}b",
    "abc",
]
BRACES = ["{a,b}$i", "{1..3}", "x{${i},${j}}y", "{a..e..2}", "{\"$s\",'q r'}", "{,x}$t"]
PATTERNS = [
    "a*", "*b*", "*c", "?b?", "[!a]*", '"$s"', "$z", "*", "[[:digit:]]*", "*' '*", "a*c", "\\*", "[0-9]", "@(a|b)*",
    "+([0-9])", "!(a*)", "?(x)1", "''", "$t",
]  # fmt: skip
REGEXES = [
    "^a",
    "b+",
    "([a-z])([a-z]*)",
    "^[0-9]+$",
    "(x)?1",
    "$z",
    '"$s"',
    "^(.)(.)?(.)?",
    "w.r",
    "[[:space:]]+",
    "^$",
]
SUBSTITUTIONS = [
    'echo "$t"', "echo $i", "printf '%s\\n\\n' \"$s\"", "f $i", "echo a; false", "exit 3", "i=99; echo $i",
    "echo $s | tr a-c A-C", 'cat <<< "$t"', ":", "((i++)); echo $i", "g 1 2", "return 4", "break",
]  # fmt: skip
COMMANDS = [
    "m[k]+=y", "((m[k1]++))", "m[$s]=$i", "a[1]+=z", "b[2]+=$i", "m+=([x]=$i [k4]=r)", "m=([k]=new)",
    "aref[2]=$i", "aref+=(r)", 'm["$t"]=$i', "a=(1 $i)", 'b=("${b[@]}")', "b=([3]=x y [1]=z)", "unset u v", "unset 'a[1]'; :",
    "unset 'b[2]' 'm[k]'; :", "unset s", "f $i", "g 3 $j", 'f "$t"', "h", "f 1; r=$?; echo $r", 'let "j = i * 2"', "let n-- i+=1",
    "eval 'i=$((i+1))'", 'eval "s=\\$t"', "eval 'f 1'", "eval false", "eval 'for y in 1 2; do echo y$y; done'", "shift",
    "set -- a 'b c'", 'set -- "$@" $i', "read v <<< \"$t\"", "read -r x y <<< \"$t\"", "read -ra b <<< \"$t\"",
    "IFS=: read -r x y <<< a:b:c", "IFS=, read -ra b <<< 'a,b,,c'", "IFS=: read x y <<< ' a : b '", "read -n 2 v <<< $s",
    "mapfile -t b <<< $'p\\nq'", 'echo "$t" | cat', "echo $i | { read v; echo got $v; i=5; }", "false | true",
    "! false | true", "exit 3 | true; echo ${PIPESTATUS[@]}", "printf '%s\\n' \"${a[@]}\" | sort", "f 1 | tr a-z A-Z",
    "echo $i > o", "echo $s >> o", "[ -f o ] && cat o", "{ echo a; echo b; } > o", "f 2 2>&1", "cat < nothere", "i=4 > o",
    "echo x > /nothere/y", "cat <<EOF\n$i ${s} $((i+1)) $(echo h) \\$x\nEOF", "cat <<'EOF'\n$i\nEOF", "(i=77; echo $i)",
    "(exit 2)", "(f 3)", "(set -e; false; echo no)", "(unset s; echo ${s-none})", "i=5 f 1", "s=q eval 'echo $i $s'",
    "v=x printenv v", "RO=2", "((RO++))", "unset RO", "nosuchcmd", "''", "$e", "cmd=echo; $cmd hi", "command echo $i",
    "type -t f", "f() { echo redefined $1; }", "g() { :; }", "set -f", "set +f", "set -e", "set +e", "IFS=:", "IFS=$' \\t\\n'",
    "trap 'echo E$?' ERR", "trap - ERR", "trap 'echo D$i' DEBUG", "trap - DEBUG", "trap 'echo R' RETURN", "trap - RETURN",
    "trap 'echo X$?' EXIT", "ref+=x", "echo $ref", "declare -n rr=s; rr=$i; unset -n rr", "i=$((i+1))", "((i++))", "((j += i))",
    "((n = i * 3))", "((x = i, y = j))", "((i = (i + 1) % 5))", "s=${s}x", "e+=$i", "x=$i y=$x", 'echo "$i $j $n"', "echo $?",
    "echo $_", "echo ${FUNCNAME[*]-}", "echo $LINENO > /dev/null", 'echo "$#:$*"',
]  # fmt: skip
LISTS = [
    "{1..6}", "p 2 'q r' 4 5", '"${a[@]}"', '"$@"', "1 2 3", "$t $i", '"${!a[@]}"', '"${!m[@]}"', "{5..1..2}", "${b[*]}",
]  # fmt: skip
#: The parameters that operators are put to, their words, and their patterns.
NAMES = [
    "s", "t", "e", "z", "u", "i", "L", "U", "ref", "RO", "a", "a[1]", "a[@]", "a[*]", "a[-1]", "b[@]", "b[*]", "b[5]", "m[k]",
    "m[@]", "m[*]", "m[nokey]", "aref[@]", "1", "2", "9", "@", "*", "x", "y",
]  # fmt: skip
OPERANDS = [
    "", "w", "$i", "a b", '"a  b"', "'q r'", "$t", '"$t"', "${s}", "$(echo p  q)", "\\*", "\\}", "~", "*", "$e", '"$@"', "$@", "${a[@]}",
    '"${a[@]}"', "é", "$'\\t'", '\\"', "a:b", "&", "\\&", "/", "\\/", "<&>", "{1,2}", "`echo r`", "$((i + 1))", "\\\\", "#", "%",
]  # fmt: skip
PIECES = [
    "a", "b*", "*", "?", "[a-c]", "[!a]", "[[:alpha:]]", "[[:space:]]*", "*o", "$s", '"$s"', "$z", "'*'", "\\*", "@(a|t)", "!(a)",
    "+([a-z])", "*([0-9])", "?(w)", "[]a]", "[^x]", "w*d", "", " ", "\\ ", "5", "${t%% *}", "é", "[a", "x1",
]  # fmt: skip
TRANSFORMATIONS = ["Q", "U", "u", "L", "A", "K", "k", "E", "P", "a"]
FORMATS = [
    "%s", "%q", "%d", "%i", "%5d", "%-5d|", "%05d", "%+d", "% d", "%x", "%#x", "%X", "%o", "%#o", "%u", "%c", "%b", "%10s|", "%-10s|",
    "%.2s", "%*d", "%-*s|", "%.*s", "%e", "%.2f", "%g", "%%", "%5c|", "%.3d", "%(%Y)T", "%Q", "%.3q", "\\n", "\\t", "\\x41", "\\101", "\\u00e9",
    "\\e", "%5%", "%z", "%", "%hd", "%lld", "%a", "%s-%s",
]  # fmt: skip
VALUES = [
    "1", "-3", "0x1f", "010", "08", "abc", "''", '"a b"', "$i", '"$t"', "'\\n'", "3.75", "1e3", '"\'a"', "'\\x'", "é", "9999999999999999999",
    "$'a\\nb'", "'a\\cb'", "-n", "--", "0", "'\\0101'", "' 5'", "5x", "+4", "1.5.2", "inf", "'*'",
]  # fmt: skip
#: What is set for a while, and what is said of variables.
STATES = [
    "set -u", "set +u", "set -o pipefail", "set +o pipefail", "set -x", "{ set +x; } 2>/dev/null", "shopt -s nocasematch",
    "shopt -u nocasematch", "shopt -s nullglob", "shopt -u nullglob", "shopt -s lastpipe", "shopt -u lastpipe", "IFS=", "IFS=,", "IFS='x '",
    "unset IFS", "IFS='\\'", "shopt -s failglob", "shopt -u failglob", "shopt -s dotglob", "shopt -s inherit_errexit", "set -k; set +k",
    "shopt -u patsub_replacement", "shopt -s patsub_replacement", "shopt -s globstar", "set -E", "set -T", "set +T", "set -a", "set +a",
    "shopt -s localvar_inherit", "shopt -u localvar_inherit", "shopt -s xpg_echo", "shopt -u xpg_echo", "shopt -s assoc_expand_once",
    "set -B; echo {a,b}", "set +B", "set -C; echo x > o", "set +C", "echo $-", "shopt -s extquote", "shopt -s nocaseglob",
]  # fmt: skip
STATEMENTS = [
    "declare -p s i a b m", "declare -p ref aref", "declare -f h", "declare -p nosuch", "declare -r q2=$i; q2=5", "declare -x X1=$s; env | grep ^X1",
    "declare +l L; L=ABC; echo $L", "declare -i n; n+=2; n=i*2; echo $n", "declare -a c=([3]=a b [1]=$i); declare -p c", "declare -c C=abc; echo $C",
    "declare -A d=(a 1 b 2); declare -p d", "declare -n r2=a[1]; echo $r2; r2=new; unset -n r2", "declare -n r3=m; r3[z]=9; echo ${r3[z]} ${!r3}",
    "local lo=1", "declare -g gl=$i; echo $gl", "typeset -u up=$t; echo $up", "export -n s; declare -p s", "readonly a2=($t); a2[0]=x",
    "unset 'm[@]'; declare -p m", "unset a; a[3]=x; declare -p a; echo ${#a[@]} ${!a[@]}", "a=() b=(); echo ${#a[@]} \"${a[@]}\" ${b[*]-none}",
    "a+=(1 2) ; a=(\"${a[@]:1}\"); declare -p a", "a=([1]=x [1+1]=y z); declare -p a", "m=([a b]=1 ['c']=2 [\"$s\"]=3); echo ${m[a b]} ${m[c]} ${m[$s]}",
    "m+=([$i]=$t); for x in \"${!m[@]}\"; do echo \"$x=${m[$x]}\"; done | sort", "s+=$t; s=${s:0:9}", "echo ${!s*} ${!R@}", "echo \"${#} ${#*} ${#@}\"",
    "while getopts :ab:c x -a -b $s -z -b; do echo \"$x ${OPTARG-none} $OPTIND\"; done; OPTIND=1",
    "while getopts ab: x -ab -c -b; do echo \"$x ${OPTARG-none} $OPTIND\"; done; OPTIND=1", "set -- -a 1 -bx y; while getopts ab: x; do echo $x $OPTARG; done; "
    "shift $((OPTIND - 1)); echo $@; OPTIND=1", "mapfile -t b < <(printf '1\\n2\\n3'); declare -p b", "mapfile -s 1 -n 2 -O 3 b <<< $'a\\nb\\nc\\nd'; declare -p b",
    "mapfile -d , b <<< a,b,c; declare -p b", "mapfile -C 'echo cb' -c 2 -t b <<< $'a\\nb\\nc\\nd'", "readarray b <<< \"$t\"; echo ${#b[@]}",
    "read -d : x <<< a:b; echo $x $?", "read -N 3 x <<< abcdef; echo $x", "read -n 2 -r x y <<< 'a b'; echo \"$x,$y\"", "read x y <<< 'a\\ b c'; echo \"$x|$y\"",
    "read -a b <<< '  a  b  '; declare -p b", "read < /dev/null; echo $?", "read -t 0 x < /dev/null; echo $?", "read <<< ' a b '; echo \"<$REPLY>\"",
    "printf 'a\\nb\\nc\\n' | { read x; echo $x; cat; }", "printf 'a\\nb\\nc\\n' | (read x; read y; echo $x$y; head -1)", "seq 5 | while read x; do ((x > 3)) && break; "
    "echo $x; done", "seq 100 | head -2 | tail -1", "yes | head -1; echo ${PIPESTATUS[@]}", "{ echo a; echo b >&2; } 2>&1 | sort -r", "cat <(echo a) <(echo b)",
    "read x < <(echo $i); echo $x", "echo a | tee >(cat > o) > /dev/null", "diff <(echo a) <(echo a); echo $?", "exec 3> o; echo hi >&3; exec 3>&-; cat o",
    "exec {fd}< <(echo q); read x <&$fd; exec {fd}<&-; echo $x", "echo a >&4", "{ echo a; } 3>&1 >&2 2>&3 3>&-", "cat <<-E\n\t$i\n\t  $s\nE", "cat <<E1 - <<E2\nA $i\nE1\n"
    "B $s\nE2", "cat <<E | tr a-z A-Z\n${t^^} ${u-\"q\"} ${s/b/\"B\"} \\$i \\\\ \\a\nE", "select x in a b c; do echo \"$x $REPLY\"; break; done <<< 2", "select x in $t; do "
    "echo \"$x $REPLY\"; done <<< $'1\\n\\n9'", "case $s in a*) echo 1;;& *c) echo 2;;& x) echo 3;; *) echo 4; esac", "case $t in *' '*) echo sp;; esac", "case \"$s\" in "
    "@(abc|x)) echo y;; !(a*)) echo n;; esac", "trap 'echo sig; i=8' USR1; kill -USR1 $$; echo $i", "trap 'echo int' INT; kill -INT $$; trap - INT", "trap -p", "trap",
    "(trap 'echo sub' EXIT; false)", "(trap; echo $BASH_SUBSHELL)", "trap 'echo ret $?' RETURN; h; trap - RETURN", "(kill -TERM $BASHPID); echo $?", "f() ( i=sub; echo $i )",
    "f() for x; do echo fx$x; done", "f() { local i; i=4; g; echo $i; }", "g() { echo \"g:$i ${FUNCNAME[@]}\"; i=12; }", "f() { local -n lr=$1; lr=set; }; f z; echo $z",
    "h() { return $1; }; h 300; echo $?", "h() { local s; echo ${s-unset}; s=5; }; h; echo $s", "h() { local -; set -f; echo *; }; h", "h() { unset s; echo ${s-un}; }; (h)",
    "h() { declare -p s; local s=1; declare -p s; }; h", "(f 1; exit 5); echo $?", "{ f 2; } & wait $!; echo $?", "(exit 7) & wait $!; echo $?", "sleep 0 & wait; echo $?",
    "x=$(exit 4); echo $?", "x=$(f 1)$(false); echo $? $x", "local q=$(false); echo $?", "x=`echo \\`echo in\\``; echo $x", "echo $(< o)", "echo \"$(echo \"a  $i\")\"",
    "echo $(echo 'a  b'; echo c)", "echo ~ ~root ~/x \"~\" a=~ x:~", "x=~:~/b; echo $x", "echo {1..3}{a,b} {a..c..2} {05..07} {3..1} {a,{b,c}} {,} {x}", "echo {$i..5} \"{1,2}\" "
    "{1,2\\,3}", "echo a{b,c}{d", "echo [a-z]* * .* ?", "touch f1 f2 g1; echo f* [fg]1 !(f*) ?1 *.none; rm -f f1 f2 g1", "touch 'a b' .h; echo *; for x in *; do echo \"<$x>\"; done; rm "
    "-f 'a b' .h", "[[ abc =~ (b)(c)?(d)? ]]; declare -p BASH_REMATCH", "[[ $t =~ ^([^ ]+)\\ +(.*)$ ]] && echo \"${BASH_REMATCH[2]}\"", "[[ a.c =~ a\\.c && aXc =~ \"a.c\" ]]; echo $?",
    "[[ -n $e || ( $i -gt 2 && ! -z $s ) ]]; echo $?", "[[ $s == ABC ]]; echo $?", "[[ a < b && 2 -lt 10 && 2 > 10 ]]; echo $?", "[[ -v a[1] && -v m[k] && ! -v nosuch ]]; echo $?",
    "[ \"$s\" = abc -a 1 -lt 2 -o x = y ]; echo $?", "[ ! a = b ]; echo $?", "test -z; echo $?", "[ a -eq 1 ]; echo $?", "test a b; echo $?", "((x = i ? j++ : (n -= 2), "
    "x <<= 1)); echo $x $j $n", "((a[1] += 3, a[i]++, m[new] |= 6)); echo ${a[1]} ${a[i]-} ${m[new]}", "echo $((i++ + ++i)) $((i-- - --i)) $i", "echo $((~i)) $((-7 / 2)) $((-7 % 3)) $((2**10)) "
    "$((1 << 63))", "let x=i+1 'y = x ** 2'; echo $x $y $?", "echo $((x = 5, y = x > 3 ? 10 : 20)) $y", "echo $((\"1\" + '2'))", "echo $((i > 2 && j++ || n++)) $j $n", "for ((;;)); do break; done",
    "for ((x = 0, y = 9; x < y; x++, y -= 2)); do echo $x$y; done", "until ((i++ > 5)); do echo u$i; done", "while read -r x; do echo \"[$x]\"; done < <(printf 'a\\\\b\\n c \\nd')",
    "for x in a b; do for y in 1 2; do [ $y = 2 ] && continue 2; echo $x$y; done; done", "for x in 1 2 3; do case $x in 2) continue;; esac; echo $x; done", "while :; do while :; do break 2; done; done",
    "if ! false; then echo n; elif true; then echo e; fi", "! true; echo $?", "true && false || echo or", "false; echo $? $_", "eval 'echo \"$i\"' '; echo b'", "eval \"x='a b'\"; echo \"$x\"",
    "command -v f echo if ls nosuch", "type f 2>&1 | head -2", "builtin echo b; builtin nosuch", "hash -r; hash", "alias ll='echo al'; alias; unalias ll", "shopt -p extglob nullglob", "set -o | grep -c on",
    "echo -e 'a\\tb\\c' x; echo", "echo -n a; echo -E 'b\\n'; echo -ne '\\x41\\n'; echo -q", "printf -v 'a[2]' %s q; echo ${a[2]}", "printf -v m[p] %03d $i; echo ${m[p]}", "umask 022; umask -S", "pushd / "
    ">/dev/null; dirs; popd > /dev/null", "cd /; cd - > /dev/null; cd \"$OLDPWD\"; pwd; cd - >/dev/null", "cd nosuch", "shift 9; echo $?", "set --; echo $#; set -- x y; shift; echo $1", "set a -b c; echo $*", "IFS=- ; "
    'echo "$*" "${a[*]}"; IFS=$\' \\t\\n\'', 'IFS=,; set -- $s,$i; echo $1; x=$*; echo "$x"; IFS=$\' \\t\\n\'', 'x="a,b,,c"; IFS=,; for y in $x; do echo "<$y>"; done; IFS=$\' \\t\\n\'', "echo ${a[@]@A}",
    "echo ${m[@]@K}", "x=(\"${a[@]@k}\"); declare -p x; unset x", "echo ${@@Q} ${*@U}", "echo \"${@:1:1}\" \"${*: -1}\" ${@:0:1}", "${s:+echo} hi", "$s", "x=5 y=$x; echo $y", "times > /dev/null", "wait 99999; echo $?", "kill "
    "-0 $$; echo $?", "kill -l 9; kill -l TERM", "exec 2>&1", "coproc cat; echo hi >&${COPROC[1]}; read x <&${COPROC[0]}; echo $x; exec {COPROC[1]}>&-; wait", "ulimit -c 0; ulimit -c", "caller; echo $?", "f() { caller 0; }; "
    "f", "echo ${BASH_SOURCE-} ${#BASH_SOURCE[@]} $BASH_SUBSHELL", "(echo $BASH_SUBSHELL; (echo $BASH_SUBSHELL))", "echo $BASH_COMMAND", "test -t 0; echo $?", ". /dev/stdin <<< 'echo sourced $1; return 3' arg; echo $?",
    "enable -n echo; type -t echo; enable echo", "printf '%s\\n' \"${!m[@]}\" | sort | head -3", "true & disown; jobs", "let; echo $?", "echo \"\\$i \\\\ \\a \\` \\\"\"", "echo 'a'\\''b' a\\ b $'\\x41\\u00e9\\n' $\"loc\"",
]  # fmt: skip
REDIRECTIONS = [
    "",
    "",
    "",
    "",
    "",
    " > p",
    " 2>&1",
    ' <<< "$t"',
    " >> p",
    " < /dev/null",
    " 2>/dev/null",
    " | cat",
    " | sort",
]


class ScriptGenerator:
    """Makes one script of what `chance` chooses."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._loops = 0
        self._function = False

    def script(self) -> str:
        """The whole script."""
        options = [f"set {option}" for option in ("-e", "-u", "-o pipefail") if self._chance.random() < 0.15]
        functions = [self._definition(name) for name in "hgf"]
        return "\n".join([SETUP, *functions, *options, self._block(0, 4), FINISH])

    def _pick(self, things: list[str] | tuple[str, ...]) -> str:
        return self._chance.choice(things)

    def _definition(self, name: str) -> str:
        self._function = True
        body = self._block(1)
        self._function = False
        redirection = self._pick(["", "", "", " 2>&1"])
        return f"{name}() {{\n((++R > 80)) && return 1\n{body}\n}}{redirection}"

    # -- words -------------------------------------------------------------------------------------

    def _number(self, depth: int = 0) -> str:
        kind = self._chance.randrange(10)
        if depth > 1 or kind < 3:
            return self._pick(NUMBERS)
        inner = self._number(depth + 1)
        if kind < 7:
            return f"{inner} {self._pick(OPERATORS)} {self._number(depth + 1)}"
        if kind == 7:
            return f"{self._pick(list('!-~+'))}({inner})"
        if kind == 8:
            return f"({inner} ? {self._number(depth + 1)} : {self._number(depth + 1)})"
        return (
            f"({self._pick(['i', 'j', 'n', 'w'])} {self._pick(['=', '+=', '-=', '*=', '&=', '^='])} {inner})"
        )

    def _word(self) -> str:
        kind = self._chance.randrange(26)
        if kind >= 20:
            operated = self._operated()
            return self._pick([operated, f'"{operated}"', f'x{operated}"{operated}"'])
        if kind < 7:
            return f'"{self._pick(EXPANSIONS)}"'
        if kind < 11:
            return self._pick(EXPANSIONS)
        if kind < 14:
            return self._pick(CONSTANTS)
        if kind == 14:
            return f'"<{self._pick(EXPANSIONS)}{self._pick(EXPANSIONS)}>"'
        if kind == 15:
            return self._pick(BRACES)
        if kind == 16:
            return f"$({self._pick(SUBSTITUTIONS)})"
        if kind == 17:
            return f'"$({self._pick(SUBSTITUTIONS)})"'
        return f"$(({self._number()}))"

    def _operated(self, depth: int = 0) -> str:
        """Any operator with any parameter."""
        name, operand, pattern = self._pick(NAMES), self._pick(OPERANDS), self._pick(PIECES)
        if not depth and self._chance.random() < 0.2:
            operand = self._operated(1)
        if self._chance.random() < 0.2:
            pattern += self._pick(PIECES)
        kind = self._chance.randrange(12)
        if kind < 3:
            return f"${{{name}{self._pick([':-', '-', ':+', '+'])}{operand}}}"
        if kind == 3:
            return (
                f"${{{self._pick(['u', 's', 'e', 'v', 'a[6]', 'm[d]'])}{self._pick(['=', ':='])}{operand}}}"
            )
        if kind < 6:
            return f"${{{name}{self._pick(['#', '##', '%', '%%'])}{pattern}}}"
        if kind < 8:
            return f"${{{name}{self._pick(['/', '//', '/#', '/%'])}{pattern}/{operand}}}"
        if kind == 8:
            end = self._pick(["", ":2", ":i", ": -1", ":1+1", ":0"])
            return (
                f"${{{name}:{self._pick(['0', '1', ' -2', 'i', '(1)', '9', ' -9', 'i > 2 ? 1 : 0'])}{end}}}"
            )
        if kind == 9:
            return f"${{{name}{self._pick(['^', '^^', ',', ',,', '~', '~~'])}{self._pick(['', pattern])}}}"
        if kind == 10:
            return f"${{{name}@{self._pick(TRANSFORMATIONS)}}}"
        return self._pick([f"${{#{name}}}", f"${{!{name}}}", f"${{{name}}}"])

    def _printed(self) -> str:
        """`printf` with any conversions."""
        form = "".join(self._pick(FORMATS) for _ in range(self._chance.randint(1, 3)))
        values = " ".join(self._pick(VALUES) for _ in range(self._chance.randint(0, 3)))
        return f"printf '{form}' {values}; echo"

    def _words(self, most: int) -> str:
        return " ".join(self._word() for _ in range(self._chance.randint(0, most)))

    # -- commands ----------------------------------------------------------------------------------

    def _condition(self, depth: int = 0) -> str:
        kind = self._chance.randrange(16)
        if kind < 4:
            return f"(({self._number()}))"
        if kind < 8:
            return f"[[ {self._test()} ]]"
        if kind < 10:
            return f'[ {self._pick(["$i", "$n", "3"])} {self._pick(["-lt", "-eq", "-ge", "="])} "$j" ]'
        if kind == 10:
            return f"[ {self._pick(['-z', '-n', '!', '-e'])} {self._word()} ]"
        if depth > 1 or kind == 11:
            return self._pick(["true", "false", ":", "f 1", "g 2 x", "[ -v u ]"])
        inner = self._condition(depth + 1)
        return self._pick(
            [
                f"! {inner}",
                f"{{ {inner}; }}",
                f"( {inner} )",
                f"{inner} && true",
                f"{inner} || f 1",
                f"e=; {inner}",
            ]
        )

    def _test(self, depth: int = 0) -> str:
        kind = self._chance.randrange(10)
        if kind < 4:
            return f"{self._word()} {self._pick(['==', '!=', '='])} {self._pick(PATTERNS)}"
        if kind < 6:
            return f"{self._word()} =~ {self._pick(REGEXES)}"
        if kind == 6:
            return (
                f"$i {self._pick(['-lt', '-eq', '-ge', '-ne'])} {self._pick(['3', '$j', 'i', 'n+1', '07'])}"
            )
        if kind == 7 or depth:
            return self._pick(["-v i", "-v a[1]", "-v m[k]", "-z $e", "-n $t", "$s", "$s < b", "-o errexit"])
        first, second = self._test(1), self._test(1)
        return self._pick(
            [f"! {first}", f"{first} && {second}", f"{first} || {second}", f"( {first} ) && {second}"]
        )

    def _simple(self) -> str:
        kind = self._chance.randrange(20)
        word = self._word()
        if kind >= 14:
            return self._pick(
                [self._pick(STATEMENTS)] * 6
                + [self._printed(), self._pick(STATES), f"echo {self._operated()}"]
                + [f"cat <<E\n{self._operated()} {self._operated()}\nE", f"cat <<< {word}"]
                + [f'for x in {self._words(3)}; do echo "<$x>"; done', f"set -- {self._words(3)}"]
                + [f"case {word} in {self._pick(PIECES).strip() or '*'}) echo one;; *) echo two;; esac"]
                + [f'x={word}; echo "<$x>"', f"a=({self._words(3)}); declare -p a"]
                + [f"echo $(({self._number()}))", f"[[ {self._test()} ]]; echo $?"]
            )
        if kind < 2:
            return f"{self._pick(['s', 't', 'e', 'z', 'u', 'v', 'L', 'U', 'ref', 'x'])}={word}"
        if kind == 2:
            return f"(({self._number()}))"
        if kind < 5:
            return f"echo {self._words(3)}"
        if kind == 5:
            return f"printf '<%s>' {self._words(3)}; echo"
        if kind == 6:
            return f"a[{self._pick(['0', '2', '-1', '7'])}]={word}"
        if kind == 7:
            return self._pick(
                [f"a+=({word})", f"m[w$((i & 3))]={word}", f"printf -v v '%s-' {word}", f"v=$(echo {word})"]
            )
        if kind == 8 and self._loops:
            return self._pick(["break", "continue", "break 2", "continue 2", "! continue"])
        if kind == 8 and self._function:
            return self._pick(
                ["return", "return 3", "local i=5", "local v s=1", f"local t={word}", "local -a b=(1 $i)"]
            )
        return self._pick(COMMANDS)

    def _block(self, depth: int, most: int = 3) -> str:
        return "\n".join(self._statement(depth) for _ in range(self._chance.randint(1, most)))

    def _statement(self, depth: int) -> str:
        if depth >= 3 or self._chance.random() < 0.5:
            return self._simple()
        kind = self._chance.randrange(16)
        end = self._pick(REDIRECTIONS)
        if kind < 3:
            return f"if {self._condition()}; then\n{self._block(depth + 1)}\nelse\n{self._block(depth + 1)}\nfi{end}"
        if kind == 3:
            return f"{self._condition()} && {{\n{self._block(depth + 1)}\n}} || h"
        if kind < 6:
            first, second, third = (self._block(depth + 1) for _ in range(3))
            return (
                f"case {self._word()} in {self._pick(PATTERNS)})\n{first}\n{self._pick([';;', ';;', ';&', ';;&'])}\n"
                f"{self._pick(PATTERNS)}|x)\n{second}\n;;\n*)\n{third}\nesac{end}"
            )
        if kind == 6:
            return f"{{\n{self._block(depth + 1)}\n}}{end}"
        if kind == 7:
            loops, self._loops = self._loops, 0
            body = self._block(depth + 1)
            self._loops = loops
            return self._pick([f"(\n{body}\n){end}", f"v=$(\n{body}\n)"])
        head = self._pick(
            [f"for {self._pick(['x', 'y', 's'])} in {self._pick(LISTS)}"] * 4
            + ["for x", f"for ((c{depth} = 0; c{depth} < 4; c{depth}++))", "w=0; while ((w++ < 4))"]
            + ["c=0; while [ $c -lt 4 ] && c=$((c + 1))", f"until {self._condition()} || ((++R > 60))"]
            + [f"while ((++R < 60)) && {self._condition()}"]
            + ["while read -r x", "while IFS=: read -r x y", "while read x"]
        )
        if "read" in head:
            end = " <<< $'a b\\nc:d  e\\n f'"
        self._loops += 1
        body = self._block(depth + 1)
        self._loops -= 1
        return f"{head}; do\n((++R > 60)) && break\n{body}\ndone{end}"
