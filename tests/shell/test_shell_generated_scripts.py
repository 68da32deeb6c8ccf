"""Whole generated scripts, run by closures, translated to Python, and by real bash."""

from __future__ import annotations

import random

import pytest
from beside_bash import needs_bash, ours, theirs
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from script_generator import ScriptGenerator

pytestmark = pytest.mark.slow


@needs_bash
@settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    # A smaller number does not make a smaller script.
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.integers(0, 2**32))
def test_scripts_do_what_bash_does(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """A script of any kinds of commands writes, complains and ends as in bash, translated or not."""
    script = ScriptGenerator(random.Random(seed)).script()
    wanted = theirs(script)
    assert ours(script, monkeypatch, translated=False) == wanted
    assert ours(script, monkeypatch, translated=True) == wanted


FAULTS = {
    "$_ after an assignment": "echo a; x=1; echo \"<$_>\"; x=$(echo q); echo \"<$_>\"; for i in 1 2 3 4; do : $i; x=$i; done; "
    "echo \"<$_>\"",
    "$_ after a jump": "for i in 1; do break; done; echo $_; for i in 1; do continue 1; done; echo $_",
    "$_ after a redirection that fails": "echo a b > /nothere/x; echo $_",
    "namerefs as loop variables": "declare -n r=s; for r in a 1; do :; done; echo $?; for r in x y; do r=$r$r; done; echo $x",
    "DEBUG and the heads of commands": "trap 'echo \"<$BASH_COMMAND>\"' DEBUG; for i in a  $x; do :; done; "
    "for ((i=0 ; i<1; i++)); do :; done; case  a in a) :;; esac; select x in a  b; do break; done <<< 1",
    "DEBUG and pipes": "trap 'echo \"<$BASH_COMMAND>\" >&2' DEBUG; : | : ; { :; } | cat; (:); echo > /nothere/x; f() { :; }; f | cat",
    "DEBUG in other traps": "trap 'echo $?; :' EXIT; trap 'echo D' DEBUG; :",
    "ERR tells the command": "trap 'echo \"<$BASH_COMMAND>\"' ERR; (false); eval false; x=$(false); $(exit 3); true | false; f() { "
    "return 2; }; f; command false",
    "ERR behind !": "trap 'echo E' ERR; ! { false; true; }; ! false; ! if true; then false; fi; ! for i in 1; do false; done",
    "xtrace of heads": "set -x; for ((i=0;i<2;i++)); do :; done; { for x in a b; do :; done; case a in a) :;; esac; } 2>&1 | cat; "
    "(( $i + 1 )); a=(1 \"$x\"); a+=($i); a[$i]=2; declare -A m; m[k$i]=1",
    "xtrace expands once": "set -x; i=0; [[ $((i++)) -lt 5 && x != y || -n $i ]]; (( $((i++)) )); a[$((i++))]=1; [[ ! a == b ]]; "
    "echo $i",
    "xtrace quotes": "set -x; echo $'a\\nb' $'\\001' '~' 'a#' '#a' \"'\" '{a}' 'a b' '' é; x=$'q\\t'; y=",
    "xtrace inside others": "set -x; eval 'echo a'; trap 'echo t' ERR; false; x=$(eval :)",
    "xtrace before redirections": "set -x; echo a 2> /dev/null; x=$(echo q) : 2> /dev/null",
    "errors go where standard error goes": "{ echo ${x:?m}; } 2> /dev/null; echo no",
    "errors in functions with redirections": "f() { echo $((1/0)); }; f 2> /dev/null; echo no",
    "errors end an eval": "readonly r; eval 'r=2; echo b'; echo a; eval 'echo $((1/0)); echo b'; echo c",
    "errors end a trap": "readonly r; trap 'r=2; echo b' DEBUG; echo x",
    "errors of expansions end more than (( ))": "(( $((1/0)) )); echo d\n(( 1/0 )); echo e\nfor i in 2 1 0; do (( $((6/i)) )); echo $?; "
    "done\nfor ((i = $((1/0));;)); do echo; done\necho end",
    "errors of operands end no more than [[ ]]": "for i in 2 1 0; do [[ i -lt 6/i ]]; echo $?; done; [[ 1+ -eq 2 ]]; echo $?\n"
    "for i in 2 1 0; do [[ $i -lt $((6/i)) ]]; echo $?; done\necho end",
    "read-only variables in (( ))": "readonly r=1; ((r++)); echo $?; [[ r++ -gt 1 ]]; echo $?; for ((r=2;;)); do :; done; echo $?",
    "tokens in errors": "(( 1/0 )); x=1; ((x /= 0 )); false; (( $# % ${u:-0} + 1 )); ((1 1 ))",
    "errexit and expansions": "set -e; s=abc; x=${s:1:-9}\necho $?; $(exit 3)\necho no",
    "errexit and assignments that are tested": "set -e; x=$(false) || echo a; if y=$(false); then :; fi; z=$(false); echo no",
    "jumps behind !": "for i in 1 2 3 4; do ! { continue; }; done; echo $?; for i in 1 2; do ! break; done; echo $?; "
    "for i in 1 2; do break 0; done; echo $?",
    "jumps in subshells": "for i in 1 2; do (break; echo x); x=$(continue; echo y); echo $x; done",
    "here-strings that fail": "read v <<< \"${!ptr}\" || echo no\necho next",
    "NUL in a substitution": "x=$(printf 'a\\0b'); echo $x",
    "IFS without blanks": "IFS=, read -r a b c <<< 'x,,y,z,'; echo \"<$a|$b|$c>\"; IFS=': ' read -r a b <<< ' p : q : r '; "
    "echo \"<$a|$b>\"; IFS=: read -ra b <<< 'a:b::c:'; echo ${#b[@]}; IFS=']^-' read a b c <<< '1]2^3-4'; echo $a $b $c; "
    "IFS=: read x <<< a::; echo $x",
    "variables of a command and its redirections": "cd /; x=null echo hi > /dev/$x; echo $?; x=null; x=nil echo hi > /dev/$x; echo $? $x; "
    "x=$(echo a; echo b >&2) eval 'echo $x' 2> /dev/null; y=${nope:?gone} echo a 2> /dev/null; echo no",
    "targets of redirections": "f='o p'; echo hi > \"$f\"; cat < \"$f\"; cat < $f; set -- \"$f\" b; cat < \"$1\"; cat < \"$@\"; rm \"$f\"",
}  # fmt: skip


@needs_bash
@pytest.mark.parametrize("name", FAULTS)
def test_small_scripts_do_what_bash_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What generated scripts have found to differ is as in bash."""
    wanted = theirs(FAULTS[name])
    assert ours(FAULTS[name], monkeypatch, translated=False) == wanted
    assert ours(FAULTS[name], monkeypatch, translated=True) == wanted
