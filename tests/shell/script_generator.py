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
        kind = self._chance.randrange(20)
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
        kind = self._chance.randrange(14)
        word = self._word()
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
