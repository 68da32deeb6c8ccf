"""Generates single commands of all kinds, to be run in several shells that should agree.

Any operator is put to any parameter, `printf` gets any conversions and values, options of the shell are set for
a while. In here-documents no operator is put to all elements of an array: bash loses empty ones there. Nor do
words of operators have whole arrays in them: bash's own marks of empty ones come out.
"""

from __future__ import annotations

from script_generator import PATTERNS, ScriptGenerator

__all__ = ["StatementGenerator"]

#: The parameters that operators are put to, their words, and their patterns.
NAMES = [
    "s", "t", "e", "z", "u", "i", "L", "U", "ref", "RO", "a", "a[1]", "a[@]", "a[*]", "a[-1]", "b[@]",
    "b[*]", "b[5]", "m[k]", "m[@]", "m[*]", "m[nokey]", "aref[@]", "1", "2", "9", "@", "*", "x", "y",
]  # fmt: skip
OPERANDS = [
    "", "w", "$i", "a b", '"a  b"', "'q r'", "$t", '"$t"', "${s}", "$(echo p  q)", "\\*", "\\}", "~", "*",
    "$e", '"$@"', "$@", "é", "$'\\t'", '\\"', "a:b", "&", "\\&", "/", "\\/", "<&>", "{1,2}", "`echo r`",
    "$((i + 1))", '\\\\', "#", "%",
]  # fmt: skip
PIECES = [
    "a", "b*", "*", "?", "[a-c]", "[!a]", "[[:alpha:]]", "[[:space:]]*", "*o", "$s", '"$s"', "$z", "'*'",
    "\\*", "@(a|t)", "!(a)", "+([a-z])", "*([0-9])", "?(w)", "[]a]", "[^x]", "w*d", "", " ", "\\ ", "5",
    "${t%% *}", "é", "[a", "x1",
]  # fmt: skip
TRANSFORMATIONS = "QUuLAKkEPa"
FORMATS = [
    "%s", "%q", "%d", "%i", "%5d", "%-5d|", "%05d", "%+d", "% d", "%x", "%#x", "%X", "%o", "%#o", "%u",
    "%c", "%b", "%10s|", "%-10s|", "%.2s", "%*d", "%-*s|", "%.*s", "%e", "%.2f", "%g", "%%", "%5c|", "%.3d",
    "%(%Y)T", "%Q", "%.3q", "\\n", "\\t", "\\x41", "\\101", "\\u00e9", "\\e", "%5%", "%z", "%", "%hd",
    "%lld", "%a", "%s-%s",
]  # fmt: skip
VALUES = [
    "1", "-3", "0x1f", "010", "08", "abc", "''", '"a b"', "$i", '"$t"', "'\\n'", "3.75", "1e3", '"\'a"',
    "'\\x'", "é", "9999999999999999999", "$'a\\nb'", "'a\\cb'", "-n", "--", "0", "'\\0101'", "' 5'", "5x",
    "+4", "1.5.2", "inf", "'*'",
]  # fmt: skip
#: What is set for a while, and what is done with variables.
STATES = [
    "set -u", "set +u", "set -o pipefail", "set +o pipefail", "{ set +x; } 2>/dev/null",
    "shopt -s nocasematch", "shopt -u nocasematch", "shopt -s nullglob", "shopt -u nullglob",
    "shopt -s lastpipe", "shopt -u lastpipe", "IFS=", "IFS=,", "IFS='x '", "unset IFS", "IFS='\\'",
    "shopt -s failglob", "shopt -u failglob", "shopt -s dotglob", "shopt -s inherit_errexit",
    "set -k; set +k", "shopt -u patsub_replacement", "shopt -s patsub_replacement", "shopt -s globstar",
    "set -E", "set -T", "set +T", "set -a", "set +a", "shopt -s localvar_inherit",
    "shopt -u localvar_inherit", "shopt -s xpg_echo", "shopt -u xpg_echo", "shopt -s assoc_expand_once",
    "set -B; echo {a,b}", "set +B", "set -C; echo x > o", "set +C", "echo $-", "shopt -s extquote",
    "shopt -s nocaseglob",
]  # fmt: skip
STATEMENTS = [
    "declare -p s i a b m", "declare -p ref aref", "declare -f h", "declare -p nosuch",
    "declare -r q2=$i; q2=5", "declare -x X1=$s; env | grep ^X1", "declare +l L; L=ABC; echo $L",
    "declare -i n; n+=2; n=i*2; echo $n", "declare -a c=([3]=a b [1]=$i); declare -p c",
    "declare -c C=abc; echo $C", "declare -A d=(a 1 b 2); declare -p d",
    "declare -n r2=a[1]; echo $r2; r2=new; unset -n r2", "declare -n r3=m; r3[z]=9; echo ${r3[z]} ${!r3}",
    "local lo=1", "declare -g gl=$i; echo $gl", "typeset -u up=$t; echo $up", "export -n s; declare -p s",
    "readonly a2=($t); a2[0]=x", "unset 'm[@]'; declare -p m",
    "unset a; a[3]=x; declare -p a; echo ${#a[@]} ${!a[@]}",
    'a=() b=(); echo ${#a[@]} "${a[@]}" ${b[*]-none}', 'a+=(1 2) ; a=("${a[@]:1}"); declare -p a',
    "a=([1]=x [1+1]=y z); declare -p a", 'm=([a b]=1 [\'c\']=2 ["$s"]=3); echo ${m[a b]} ${m[c]} ${m[$s]}',
    'm+=([$i]=$t); for x in "${!m[@]}"; do echo "$x=${m[$x]}"; done | sort', "s+=$t; s=${s:0:9}",
    "echo ${!s*} ${!R@}", 'echo "${#} ${#*} ${#@}"',
    'while getopts :ab:c x -a -b $s -z -b; do echo "$x ${OPTARG-none} $OPTIND"; done; OPTIND=1',
    'while getopts ab: x -ab -c -b; do echo "$x ${OPTARG-none} $OPTIND"; done; OPTIND=1',
    "set -- -a 1 -bx y; while getopts ab: x; do echo $x $OPTARG; done; shift $((OPTIND - 1)); echo "
    "$@; OPTIND=1",
    "mapfile -t b < <(printf '1\\n2\\n3'); declare -p b",
    "mapfile -s 1 -n 2 -O 3 b <<< $'a\\nb\\nc\\nd'; declare -p b", "mapfile -d , b <<< a,b,c; declare -p b",
    "mapfile -C 'echo cb' -c 2 -t b <<< $'a\\nb\\nc\\nd'", 'readarray b <<< "$t"; echo ${#b[@]}',
    "read -d : x <<< a:b; echo $x $?", "read -N 3 x <<< abcdef; echo $x",
    'read -n 2 -r x y <<< \'a b\'; echo "$x,$y"', 'read x y <<< \'a\\ b c\'; echo "$x|$y"',
    "read -a b <<< '  a  b  '; declare -p b", "read < /dev/null; echo $?",
    "read -t 0 x < /dev/null; echo $?", 'read <<< \' a b \'; echo "<$REPLY>"',
    "printf 'a\\nb\\nc\\n' | { read x; echo $x; cat; }",
    "printf 'a\\nb\\nc\\n' | (read x; read y; echo $x$y; head -1)",
    "seq 5 | while read x; do ((x > 3)) && break; echo $x; done", "seq 100 | head -2 | tail -1",
    "yes | head -1; echo ${PIPESTATUS[@]}", "{ echo a; echo b >&2; } 2>&1 | sort -r",
    "cat <(echo a) <(echo b)", "read x < <(echo $i); echo $x", "echo a | tee >(cat > o) > /dev/null",
    "diff <(echo a) <(echo a); echo $?", "exec 3> o; echo hi >&3; exec 3>&-; cat o",
    "exec {fd}< <(echo q); read x <&$fd; exec {fd}<&-; echo $x", "echo a >&4",
    "{ echo a; } 3>&1 >&2 2>&3 3>&-", "cat <<-E\n\t$i\n\t  $s\nE", "cat <<E1 - <<E2\nA $i\nE1\nB $s\nE2",
    'cat <<E | tr a-z A-Z\n${t^^} ${u-"q"} ${s/b/"B"} \\$i \\\\ \\a\nE',
    'select x in a b c; do echo "$x $REPLY"; break; done <<< 2',
    'select x in $t; do echo "$x $REPLY"; done <<< $\'1\\n\\n9\'',
    "case $s in a*) echo 1;;& *c) echo 2;;& x) echo 3;; *) echo 4; esac",
    "case $t in *' '*) echo sp;; esac", 'case "$s" in @(abc|x)) echo y;; !(a*)) echo n;; esac',
    "trap 'echo sig; i=8' USR1; kill -USR1 $$; echo $i", "trap 'echo int' INT; kill -INT $$; trap - INT",
    "trap -p", "trap", "(trap 'echo sub' EXIT; false)", "(trap; echo $BASH_SUBSHELL)",
    "trap 'echo ret $?' RETURN; h; trap - RETURN", "(kill -TERM $BASHPID); echo $?",
    "f() ( i=sub; echo $i )", "f() for x; do echo fx$x; done", "f() { local i; i=4; g; echo $i; }",
    'g() { echo "g:$i ${FUNCNAME[@]}"; i=12; }', "f() { local -n lr=$1; lr=set; }; f z; echo $z",
    "h() { return $1; }; h 300; echo $?", "h() { local s; echo ${s-unset}; s=5; }; h; echo $s",
    "h() { local -; set -f; echo *; }; h", "h() { unset s; echo ${s-un}; }; (h)",
    "h() { declare -p s; local s=1; declare -p s; }; h", "(f 1; exit 5); echo $?",
    "{ f 2; } & wait $!; echo $?", "(exit 7) & wait $!; echo $?", "sleep 0 & wait; echo $?",
    "x=$(exit 4); echo $?", "x=$(f 1)$(false); echo $? $x", "local q=$(false); echo $?",
    "x=`echo \\`echo in\\``; echo $x", "echo $(< o)", 'echo "$(echo "a  $i")"',
    "echo $(echo 'a  b'; echo c)", 'echo ~ ~root ~/x "~" a=~ x:~', "x=~:~/b; echo $x",
    "echo {1..3}{a,b} {a..c..2} {05..07} {3..1} {a,{b,c}} {,} {x}", 'echo {$i..5} "{1,2}" {1,2\\,3}',
    "echo a{b,c}{d", "echo [a-z]* * .* ?", "touch f1 f2 g1; echo f* [fg]1 !(f*) ?1 *.none; rm -f f1 f2 g1",
    'touch \'a b\' .h; echo *; for x in *; do echo "<$x>"; done; rm -f \'a b\' .h',
    "[[ abc =~ (b)(c)?(d)? ]]; declare -p BASH_REMATCH",
    '[[ $t =~ ^([^ ]+)\\ +(.*)$ ]] && echo "${BASH_REMATCH[2]}"',
    '[[ a.c =~ a\\.c && aXc =~ "a.c" ]]; echo $?', "[[ -n $e || ( $i -gt 2 && ! -z $s ) ]]; echo $?",
    "[[ $s == ABC ]]; echo $?", "[[ a < b && 2 -lt 10 && 2 > 10 ]]; echo $?",
    "[[ -v a[1] && -v m[k] && ! -v nosuch ]]; echo $?", '[ "$s" = abc -a 1 -lt 2 -o x = y ]; echo $?',
    "[ ! a = b ]; echo $?", "test -z; echo $?", "[ a -eq 1 ]; echo $?", "test a b; echo $?",
    "((x = i ? j++ : (n -= 2), x <<= 1)); echo $x $j $n",
    "((a[1] += 3, a[i]++, m[new] |= 6)); echo ${a[1]} ${a[i]-} ${m[new]}",
    "echo $((i++ + ++i)) $((i-- - --i)) $i", "echo $((~i)) $((-7 / 2)) $((-7 % 3)) $((2**10)) $((1 << 63))",
    "let x=i+1 'y = x ** 2'; echo $x $y $?", "echo $((x = 5, y = x > 3 ? 10 : 20)) $y",
    'echo $(("1" + \'2\'))', "echo $((i > 2 && j++ || n++)) $j $n", "for ((;;)); do break; done",
    "for ((x = 0, y = 9; x < y; x++, y -= 2)); do echo $x$y; done", "until ((i++ > 5)); do echo u$i; done",
    'while read -r x; do echo "[$x]"; done < <(printf \'a\\\\b\\n c \\nd\')',
    "for x in a b; do for y in 1 2; do [ $y = 2 ] && continue 2; echo $x$y; done; done",
    "for x in 1 2 3; do case $x in 2) continue;; esac; echo $x; done",
    "while :; do while :; do break 2; done; done", "if ! false; then echo n; elif true; then echo e; fi",
    "! true; echo $?", "true && false || echo or", "false; echo $? $_", 'eval \'echo "$i"\' \'; echo b\'',
    'eval "x=\'a b\'"; echo "$x"', "command -v f echo if ls nosuch", "type f 2>&1 | head -2",
    "builtin echo b; builtin nosuch", "hash -r; hash", "alias ll='echo al'; alias; unalias ll",
    "shopt -p extglob nullglob", "set -o | grep -c on", "echo -e 'a\\tb\\c' x; echo",
    "echo -n a; echo -E 'b\\n'; echo -ne '\\x41\\n'; echo -q", "printf -v 'a[2]' %s q; echo ${a[2]}",
    "printf -v m[p] %03d $i; echo ${m[p]}", "umask 022; umask -S",
    "pushd / >/dev/null; dirs; popd > /dev/null",
    'cd /; cd - > /dev/null; cd "$OLDPWD"; pwd; cd - >/dev/null', "cd nosuch", "shift 9; echo $?",
    "set --; echo $#; set -- x y; shift; echo $1", "set a -b c; echo $*",
    'IFS=- ; echo "$*" "${a[*]}"; IFS=$\' \\t\\n\'',
    'IFS=,; set -- $s,$i; echo $1; x=$*; echo "$x"; IFS=$\' \\t\\n\'',
    'x="a,b,,c"; IFS=,; for y in $x; do echo "<$y>"; done; IFS=$\' \\t\\n\'', "echo ${a[@]@A}",
    "echo ${m[@]@K}", 'x=("${a[@]@k}"); declare -p x; unset x', "echo ${@@Q} ${*@U}",
    'echo "${@:1:1}" "${*: -1}" ${@:0:1}', "${s:+echo} hi", "$s", "x=5 y=$x; echo $y",
    "wait 99999; echo $?", "kill -l 9; kill -l TERM", "exec 2>&1",
    "coproc cat; echo hi >&${COPROC[1]}; read x <&${COPROC[0]}; echo $x; exec {COPROC[1]}>&-; wait",
    "caller; echo $?", "f() { caller 0; }; f", "echo ${BASH_SOURCE-} ${#BASH_SOURCE[@]} $BASH_SUBSHELL",
    "(echo $BASH_SUBSHELL; (echo $BASH_SUBSHELL))", "echo $BASH_COMMAND", "test -t 0; echo $?",
    ". /dev/stdin <<< 'echo sourced $1; return 3' arg; echo $?",
    "enable -n echo; type -t echo; enable echo", 'printf \'%s\\n\' "${!m[@]}" | sort | head -3',
    "true & disown; jobs", "let; echo $?", 'echo "\\$i \\\\ \\a \\` \\""',
    'echo \'a\'\\\'\'b\' a\\ b $\'\\x41\\u00e9\\n\' $"loc"',
]  # fmt: skip


class StatementGenerator(ScriptGenerator):
    """Makes commands of what the chance chooses."""

    def statement(self) -> str:
        """One command, or a few that belong together."""
        if self._chance.random() < 0.4:
            return self._simple()
        word = self._any_word()
        pattern = self._pick(PATTERNS)
        return self._pick(
            [self._pick(STATEMENTS)] * 6
            + [self._printed(), self._pick(STATES), f"echo {self._operated()}"]
            + [f"cat <<E\n{self._documented()} {self._documented()}\nE", f"cat <<< {word}"]
            + [f'for x in {self._any_words()}; do echo "<$x>"; done', f"set -- {self._any_words()}"]
            + [f"case {word} in {pattern}) echo one;; *) echo two;; esac", f'x={word}; echo "<$x>"']
            + [
                f"a=({self._any_words()}); declare -p a",
                f"m[w$((i & 3))]={word}",
                f"printf '<%s>' {word}; echo",
            ]
            + [f"echo $(({self._number()}))", f"[[ {self._test()} ]]; echo $?"]
        )

    def _any_word(self) -> str:
        if self._chance.random() < 0.5:
            return self._word()
        operated = self._operated()
        return self._pick([operated, f'"{operated}"', f'x{operated}"{operated}"'])

    def _any_words(self) -> str:
        return " ".join(self._any_word() for _ in range(self._chance.randint(0, 3)))

    def _operated(self, nested: bool = False) -> str:
        """Any operator with any parameter."""
        name, operand, pattern = self._pick(NAMES), self._pick(OPERANDS), self._pick(PIECES)
        if not nested and self._chance.random() < 0.2:
            operand = self._operated(nested=True)
        if self._chance.random() < 0.2:
            pattern += self._pick(PIECES)
        place = self._pick(["0", "1", " -2", "i", "(1)", "9", " -9", "i > 2 ? 1 : 0"])
        end = self._pick(["", ":2", ":i", ": -1", ":1+1", ":0"])
        unset = self._pick(["u", "s", "e", "v", "a[6]", "m[d]"])
        return self._pick(
            [f"${{{name}{self._pick([':-', '-', ':+', '+'])}{operand}}}"] * 3
            + [f"${{{unset}{self._pick(['=', ':='])}{operand}}}"]
            + [f"${{{name}{self._pick(['#', '##', '%', '%%'])}{pattern}}}"] * 2
            + [f"${{{name}{self._pick(['/', '//', '/#', '/%'])}{pattern}/{operand}}}"] * 2
            + [f"${{{name}:{place}{end}}}", f"${{{name}@{self._pick(list(TRANSFORMATIONS))}}}"]
            + [f"${{{name}{self._pick(['^', '^^', ',', ',,', '~', '~~'])}{self._pick(['', pattern])}}}"]
            + [self._pick([f"${{#{name}}}", f"${{!{name}}}", f"${{{name}}}"])]
        )

    def _documented(self) -> str:
        """An operator in a here-document, where bash cannot read all replacements."""
        while "/" in (operated := self._operated()) or "[*]" in operated or "[@]" in operated:
            pass
        return operated

    def _printed(self) -> str:
        """`printf` with any conversions."""
        form = "".join(self._pick(FORMATS) for _ in range(self._chance.randint(1, 3)))
        values = " ".join(self._pick(VALUES) for _ in range(self._chance.randint(0, 3)))
        return f"printf '{form}' {values}; echo"
