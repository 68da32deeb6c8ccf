"""Loops and functions translated to Python: from the first iteration on, so that little scripts are enough."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from example_counts import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planaria_shell.shell import Shell
from planaria_shell.state.functions import FunctionBody
from planaria_shell.state.limits import Limits
from planaria_shell.state.streams import CapturedOutput, NullStream
from planaria_shell.translation import region
from planaria_shell.translation.region import LoopRegion

pytestmark = pytest.mark.slow

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/root"}
ORIGIN = re.compile(r"^(bash|environment): (line \d+: )?", re.MULTILINE)
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash to compare with")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Translate at the second iteration and the second call."""
    monkeypatch.setattr(LoopRegion, "rounds", 2)
    monkeypatch.setattr(FunctionBody, "calls", 1)


@pytest.fixture
def entered(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What has been run translated."""
    found: list[object] = []
    run = region._Region._run

    def noting(self: region._Region, shell: Shell, *arguments: object) -> int | None:
        status = run(self, shell, *arguments)
        if status is not None:
            found.append(self)
        return status

    monkeypatch.setattr(region._Region, "_run", noting)
    return found


def ours(script: str, **settings: object) -> tuple[str, str, int]:
    out, err = CapturedOutput(), CapturedOutput()
    shell = Shell(env=ENVIRONMENT, cwd="/tmp", stdin=NullStream(), stdout=out, stderr=err, **settings)  # type: ignore[arg-type]
    shell.run(script)
    status = shell.finish()
    return out.getvalue().decode(errors="replace"), err.getvalue().decode(errors="replace"), status


def theirs(script: str) -> tuple[str, str, int]:
    real = subprocess.run(
        ["bash", "-c", script], env=ENVIRONMENT, cwd="/tmp", stdin=subprocess.DEVNULL, capture_output=True,
        check=False, timeout=30,
    )  # fmt: skip
    return real.stdout.decode(errors="replace"), real.stderr.decode(errors="replace"), real.returncode


def same(script: str) -> None:
    """Both write the same, end with the same status and complain equally often."""
    mine, real = ours(script), theirs(script)
    assert mine[0] == real[0]
    assert mine[2] == real[2]
    said, wanted = ORIGIN.sub("", mine[1]), ORIGIN.sub("", real[1])
    assert said.splitlines() == wanted.splitlines()


# -- numbers at the limits ---------------------------------------------------------------------------

LIMITS = [0, 1, -1, 3, 1 << 30, (1 << 30) - 1, -(1 << 30), 3037000499, 3037000500, -3037000500, 1 << 62,
          -(1 << 62), (1 << 63) - 2, (1 << 63) - 1, -(1 << 63) + 1]  # fmt: skip


@needs_bash
@pytest.mark.parametrize("start", LIMITS)
def test_numbers_at_the_limits(start: int, entered: list[object]) -> None:
    """Whatever is computed of numbers near the largest and the smallest wraps as 64 bits do."""
    same(
        f"a={start} b={start} c={start} s=abc; for ((i = 0; i < 5; i++)); do "
        "((a++, b--, c += 2)); ((d = a + b, e = a - b, f = a * a, g = -a, h = a * i, j = i - b, k = b - i)); "
        "((l = a + ${#s}, m = ${#s} - a, n = b - ${#s}, o = ${#s} * b, p = ${#s} - ${#a}, q = a * a % 7)); "
        "((r = a + -1, t = b - -1, u = -(a * a), v = a * -3, w = ++c - --b)); "
        "echo $a $b $c $d $e $f $g $h $j $k $l $m $n $o $p $q $r $t $u $v $w; done"
    )
    assert entered


# -- generated loops -------------------------------------------------------------------------------

SETUP = """
i=3 j=0 n=7 rounds=0 s=abc t='two words' e='' z=x1 q='n+1'; a=(4 "5 5" '' 6); declare -A m=([k]=v [k1]=2)
f() { local i=$1 o; n=$((n + i)); [ "$2" ] && { r=$2; return 3; }; o=$n; r=$o$u; }
g() { (($1 <= 0)) && { r=0; return; }; g $(($1 - 1)) || return 5; r=$((r + $1)); [[ $r != 6 ]]; }
"""
FINISH = """
echo "end $?"; declare -p i j n s t e z q a; echo "${r-}"; for k in k k0 k1 k2 k3 k4 k5 abc x; do echo "$k:${m[$k]-}"; done
"""
ATOMS = st.sampled_from(
    ["0", "1", "7", "-3", "010", "i", "j", "n", "$i", "${n}", "z1", "a[0]", "a[i%4]", "q", "$q", "${#s}",
     "${#a[@]}", "m[k1]", "9223372036854775807", "i++", "--j", "n--", "++j"]
)  # fmt: skip
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(
            inner,
            st.sampled_from(
                [
                    "+",
                    "-",
                    "*",
                    "/",
                    "%",
                    "<",
                    ">",
                    "==",
                    "!=",
                    "<=",
                    ">=",
                    "&&",
                    "||",
                    "&",
                    "|",
                    "^",
                    "<<",
                    ">>",
                    ",",
                ]
            ),
            inner,
        ).map(" ".join),
        inner.map(lambda one: f"({one})"),
        inner.map(lambda one: f"!({one})"),
        inner.map(lambda one: f"-({one})"),
        inner.map(lambda one: f"~({one})"),
        st.tuples(inner, inner, inner).map(lambda three: f"({three[0]} ? {three[1]} : {three[2]})"),
        st.tuples(
            st.sampled_from(["i", "n", "j"]), st.sampled_from(["=", "+=", "-=", "*=", "&=", "|="]), inner
        ).map(lambda three: f"({' '.join(three)})"),
    ),
    max_leaves=4,
)
WORDS = st.one_of(
    st.sampled_from(
        ["$i", "$n", '"$t"', '"$s"', "x", "''", '"${s#*b}"', '"${t%% *}"', "${s/b/X}", '"${s//[ab]/-}"', "5",
         '"${t^^}"', '"${e:-none}"', '"${u:-un}"', '"${s:1}"', '"${t:2:3}"', '"${s:0:$((i & 3))}"', "007",
         '"${a[1]}"', '"${a[i & 3]}"', '"${m[k]}"', '"${m[$s]}"', '"<$s$i>"', '"${#t}"', '"${z+set}"', "-n",
         '"{$n}"', "'a\\b'", "$'a\\nb'", '"$?"', "*.none", "$t", "$u", '"$u"', "${e}", "~", "a${i}b", "é$n"]
    ),
    EXPRESSIONS.map(lambda one: f"$(({one}))"),
)  # fmt: skip
CONDITIONS = st.one_of(
    EXPRESSIONS.map(lambda one: f"(({one}))"),
    st.tuples(WORDS, st.sampled_from(["==", "!=", "=", "<", "=~"]), WORDS).map(
        lambda three: f"[[ {three[0]} {three[1]} {three[2]} ]]"
    ),
    st.tuples(WORDS, st.sampled_from(["a*", "*b*", "*c", "?b?", "[!a]*", '"$s"', "$z", "*"])).map(
        lambda two: f"[[ {two[0]} == {two[1]} && -n $s || $i -gt 2 ]]"
    ),
    st.tuples(WORDS, st.sampled_from(["-lt", "-eq", "-ge", "=", "!="]), WORDS).map(
        lambda three: f"[ {' '.join(three)} ]"
    ),
    WORDS.map(lambda one: f"[ -z {one} ]"),
    WORDS.map(lambda one: f"test {one}"),
    st.sampled_from(["true", "false", ":", "f 1", "f 2 x", "g 2", "[[ -v i ]]", "[ -v q ]", "[ -d / ]"]),
)
NAMES = st.sampled_from(["i", "j", "n", "s", "t", "e", "z", "r"])
PLAIN = st.one_of(
    st.tuples(NAMES, WORDS).map("=".join),
    st.tuples(st.sampled_from("et"), WORDS.filter(lambda one: not re.search(r"\$\{?[te]\b", one))).map(
        "+=".join
    ),
    st.sampled_from(["i+=1", "n+=0", "j+=x", "z+=$j"]),
    EXPRESSIONS.map(lambda one: f"(({one}))"),
    st.tuples(WORDS, WORDS).map(lambda two: f"echo {two[0]} {two[1]}"),
    WORDS.map(lambda one: f"printf '<%s>\\n' {one}"),
    WORDS.map(lambda one: f"echo got {one}"),
    st.tuples(st.sampled_from(["i & 3", "0", "n & 7", "-1"]), WORDS).map(lambda two: f"a[{two[0]}]={two[1]}"),
    WORDS.map(lambda one: f"a+=({one})"),
    st.tuples(WORDS, WORDS).map(lambda two: f"m[k$((i & 3))]={two[0]}"),
    st.sampled_from(["m[k]+=y", "((m[k1]++))", "m[$s]=$i", "((a[0]++))", "((a[i & 1] += 2))", "a=(1 $i)"]),
    st.tuples(WORDS, WORDS).map(lambda two: f"f {two[0]} {two[1]}"),
    st.sampled_from(["f $i", "g 3", "g 4", 'f "$n"', "break", "continue", "f 1; r=$?"]),
)
STATEMENTS = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.tuples(CONDITIONS, inner, inner).map(lambda p: f"if {p[0]}; then {p[1]}; else {p[2]}; fi"),
        st.tuples(CONDITIONS, inner, CONDITIONS, inner).map(
            lambda p: f"if {p[0]}; then {p[1]}; elif {p[2]}; then {p[3]}; fi"
        ),
        st.tuples(CONDITIONS, inner, inner).map(lambda p: f"{p[0]} && {p[1]} || {p[2]}"),
        st.tuples(CONDITIONS, inner).map(lambda p: f"! {p[0]} && {{ {p[1]}; }}"),
        st.tuples(WORDS, inner, inner).map(
            lambda p: f"case {p[0]} in a*|3) {p[1]};; *b) {p[2]};; 'two words') ;; *) r=$?;; esac"
        ),
        inner.map(lambda one: f"for x in 1 '' \"$s\" {{8..10}}; do {one}; done"),
        inner.map(lambda one: f'for x in "${{a[@]}}"; do {one}; ((++w > 30)) && break; done'),
        inner.map(lambda one: f"for ((y = 0; y < 3; y++)); do {one}; done"),
        inner.map(lambda one: f"w=0; while ((w++ < 3)); do ((++rounds > 60)) && break; {one}; done"),
        inner.map(
            lambda one: f"w=0; until [ $w -ge 3 ]; do w=$((w + 1)); ((++rounds > 60)) && break; {one}; done"
        ),
        st.tuples(inner, inner).map("; ".join),
    ),
    max_leaves=6,
)
HEADS = st.sampled_from(
    ["for i in {1..6}", "for x in p 2 'q r' 4 5", "for ((c = 0; c < 5; c++))", "c=0; while ((c++ < 5))",
     "c=0; while [ $c -lt 5 ] && c=$((c + 1))"]
)  # fmt: skip


@needs_bash
@settings(max_examples=examples(80), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(HEADS, STATEMENTS, st.sampled_from(["", "set -e\n", "set -u\n"]))
def test_generated_loops_do_what_bash_does(head: str, body: str, option: str) -> None:
    """A loop over any commands that can be translated leaves the same output and variables as in bash."""
    same(f"{SETUP}{option}{head}; do {body}; done{FINISH}")


# -- what is kept ----------------------------------------------------------------------------------

SCRIPTS = {
    "wrapping": "i=9223372036854775800; for x in {1..20}; do ((i++, n = i * 3, k = -i - 9)); done; echo $i $n $k",
    "large": "n=99999999999999999; for x in 1 2 3 4 5; do n=${n}9; echo $n; ((m = n + 1)); echo $m; done",
    "texts as expressions": "x='y = y + 2' y=1; for i in {1..5}; do ((s += x)); done; echo $s $y",
    "local in nested calls": "f() { local v=$1; ((v > 3)) && { echo $v $w; return; }; w=$v; f $((v + 1)); echo $v; }\n"
    "for i in 1 2 3; do f $i; done; echo ${v-unset}",
    "dynamic scope": "g() { v+=x; }; f() { local v=$1; g; g; r=$v; }; v=o; for i in a b c d; do f $i; echo $r $v; done",
    "a local that is an array outside": "v=(1 2 3); f() { local v=$1; r+=$v; }; for i in {1..6}; do f $i; done; "
    "echo $r ${v[*]}",
    "an assignment in a later word": "for i in 1 2 3; do echo $i $(((~((i = 0))))) $i; done; echo $i",
    "a quotient of expansions": "for i in 1 2 3; do ((~(0 / (i - i) + $i))); echo $((6 / $i)); done",
    "readonly": "readonly r=1; for i in 1 2 3 4; do [ $i = 3 ] && r=2; echo $i; done; echo end",
    "integer": "declare -i n=1; for i in 1 2 3 4; do n+=i; n=n*2; done; echo $n",
    "upper": "declare -u s=a; for i in 1 2 3 4; do s+=b$i; done; echo $s",
    "nameref": "declare -n r=t; for i in 1 2 3 4; do r+=$i; done; echo $t",
    "lineno": "for i in 1 2 3 4; do\n:\necho $LINENO\ndone",
    "nounset": "set -u; for i in 1 2 3 4; do\n((i > 2)) && echo $none; echo $i; done; echo end",
    "errexit": "set -e; f() { [[ $1 -lt 3 ]]; echo $1; }; for i in 1 2 3 4; do f $i; done; echo end",
    "errexit does not apply in conditions": "set -e; f() { false; echo $1; }; for i in 1 2 3; do if f $i; then :; fi; "
    "f x || :; done; f y",
    "ERR trap": "trap 'echo trap $i' ERR; for i in 1 2 3 4; do [ $i = 3 ]; done",
    "DEBUG trap": "n=0; trap '((n++))' DEBUG; for i in 1 2 3 4; do :; done; trap - DEBUG; echo $n",
    "RETURN trap": "f() { trap 'echo left' RETURN; x=$1; }; for i in 1 2 3 4; do f $i; done",
    "xtrace": "for i in 1 2 3 4; do [ $i = 3 ] && set -x; x=$((i * 2)); done",
    "a function that is redefined": "f() { echo 1; }; for i in 1 2 3 4 5; do f; [ $i = 3 ] && eval 'f() { echo 2; }'; done",
    "a builtin that is redefined": "g() { for i in 1 2 3 4; do [ $i = 2 ]; done; echo $?; }; g; [() { return 7; }; g",
    "IFS": "v='a:b c'; f() { echo $#; }; for i in 1 2 3 4; do f $v; done; IFS=:; for i in 1 2 3 4; do f $v; done",
    "globs": "f() { echo $#; }; v='/et[c] /us?'; for i in 1 2 3 4; do f $v; done; set -f; for i in 1 2 3; do f $v; done",
    "last argument": "for i in 1 2 3 4; do echo a $i; done; echo $_; for i in 1 2 3; do : q$i; done; echo $_",
    "return from a loop": "f() { for i in 1 2 3 4 5; do ((i == $1)) && return $i; done; }; for j in 2 3 4 9; do f $j; "
    "echo $?; done",
    "break and continue": "for i in {1..9}; do ((i % 2)) && continue; for ((j = 0;; j++)); do ((j > i)) && break; done; "
    "((i > 6)) && break; echo $i $j; done; echo $i $?",
    "break of two loops": "for i in 1 2 3 4; do for j in 1 2 3; do [ $i$j = 32 ] && break 2; echo $i$j; done; done",
    "sparse arrays": "a[10]=x; for i in {1..5}; do a+=($i); a[i * 3]=$i; a[-1]+=y; done; declare -p a; echo ${#a[@]}",
    "a bad subscript": "a=(1); for i in 1 2 3; do a[-9]=2; echo $i; done; echo end",
    "division by zero": "for i in 2 1 0 1; do ((x = 6 / i)); echo $? $x; done; for i in 1 0; do x=$((1 % i)); echo $x; done",
    "division by zero in for": "for ((i = 3; 6 / i; i--)); do echo $i; done; echo $?",
    "reading": "printf '%s\\n' 'a b  c ' '' '  x' $'t\\tu v' 'ä ö' > f.$$; for k in 1 2 3; do while read -r p q; do "
    'echo "<$p|$q>"; done < f.$$; while IFS= read -r p; do echo "<$p>"; done < f.$$; done; rm f.$$',
    "what was not read stays": "printf '%s\\n' {1..20} | { while read -r x; do ((x == 7)) && break; done; read y; "
    "echo $x $y; cat | wc -l; }",
    "regular expressions": "for i in a1 b22 c x3; do [[ $i =~ ^([a-z])([0-9]+)$ ]] && echo ${BASH_REMATCH[2]} || echo $?; done",
    "a temporary variable": "f() { local a=$1; echo $a$b; }; for i in 1 2 3; do b=x f $i; done; for i in 1 2 3; do f $i; done",
    "allexport": "set -a; for i in 1 2 3 4; do z$i=1 2>/dev/null; y=$i; done; printenv y",
    "recursion": "fib() { (($1 < 2)) && { r=$1; return; }; fib $(($1 - 1)); local a=$r; fib $(($1 - 2)); r=$((r + a)); }; "
    "fib 12; echo $r ${a-none}",
    "output that fails": "for i in {1..5}; do echo $i; done >&- ; echo $?",
    "-v": "f() { unset q; [ $1 = 2 ] && q=1; for i in 1 2 3; do [ -v q ]; echo $?; done; }; for k in 1 2 3; do f $k; done",
    "functions that nest": "FUNCNEST=5; f() { echo $1; f $(($1 + 1)); }; f 1; unset FUNCNEST; g() { (($1)) && g $(($1 - 1)); "
    "n=$((n + 1)); }; g 500; echo $n",
}  # fmt: skip


@needs_bash
@pytest.mark.parametrize("name", SCRIPTS)
def test_translated_loops_keep_their_meaning(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a loop means does not depend on whether it is translated."""
    same(SCRIPTS[name])


LANGUAGE = {
    "arithmetic": "s=0; for ((i = 0; i < 50; i++)); do ((s += i * i % 7)); done",
    "a while loop": "i=0; while [ $i -lt 30 ]; do i=$((i + 1)); done",
    "conditions": "for i in {1..30}; do if [[ $i == *7* && $i -gt 10 ]]; then n=$((n + 1)); fi; done",
    "texts": "for i in {1..30}; do s+=\"item $i,\"; t=${s##*m}; u=${t%%,*}; v=${u//1/x}; done",
    "arrays": 'a=(1); declare -A m=([k]=1); for i in {1..30}; do a+=($i); m[k$((i % 5))]=$i; done; for x in "${a[@]}"; '
    "do ((s += x)); done",
    "case": "for i in {1..30}; do case $i in *5) ((n++));; 1*) ((n += 2));; *) :;; esac; done",
    "calls": "f() { local a=$1; r=$((a + 1)); }; r=0; for i in {1..20}; do f $r; done",
    "reading": "while read -r a b rest; do ((n += b)); done <<< $'a 1\nb 2\nc 3 d\ne 4'",
    "output": 'for i in {1..10}; do echo "$i: $((i * i))"; printf "%d\\n" $i; done',
}  # fmt: skip


@pytest.mark.parametrize("name", LANGUAGE)
def test_what_touches_only_variables_is_translated(name: str, entered: list[object]) -> None:
    """Loops over numbers, texts, arrays, functions, lines read and output written are all translated."""
    ours(LANGUAGE[name])
    assert entered


def test_limits_hold_in_translated_loops() -> None:
    """A translated loop ends at the limits of iterations, commands and characters with what was written before."""
    out, err, status = ours(
        "for ((i = 0;; i++)); do ((i % 50)) || echo $i; done", limits=Limits(iterations=120)
    )
    assert (out, status) == ("0\n50\n100\n", 1)
    assert "limit reached: iterations (120)" in err
    _, err, _ = ours("while true; do :; done", limits=Limits(commands=3000))
    assert "limit reached: commands (3000)" in err
    _, err, _ = ours("while true; do s+=0123456789; done", limits=Limits(variable_bytes=5000))
    assert "limit reached: variable_bytes (5000)" in err


def test_a_loop_that_a_limit_ends_leaves_its_variables() -> None:
    """Variables have the values that they had when a limit ended the loop."""
    shell = Shell(env=ENVIRONMENT, stdin=NullStream(), stdout=CapturedOutput(), stderr=CapturedOutput())
    shell.limit(Limits(iterations=500))
    shell.run("for ((i = 0;; i++)); do t=x$i; done")
    assert shell.variables.get("i") == "500"
    assert shell.variables.get("t") == "x499"


def test_a_translated_loop_can_be_interrupted() -> None:
    """KeyboardInterrupt leaves a translated loop at once, and the variables keep what they had."""
    import signal

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    shell = Shell(env=ENVIRONMENT, stdin=NullStream(), stdout=CapturedOutput(), stderr=CapturedOutput())
    before = signal.signal(signal.SIGVTALRM, interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            shell.run("while :; do ((i++)); done")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    assert int(shell.variables.get("i") or 0) > 1000


def test_long_texts_are_not_built_quadratically() -> None:
    """A text of two million characters is built by appending to it."""
    shell = Shell(env=ENVIRONMENT, stdin=NullStream(), stdout=CapturedOutput(), stderr=CapturedOutput())
    shell.run("for i in {1..200000}; do s+=0123456789; done")
    assert len(shell.variables.get("s") or "") == 2_000_000
