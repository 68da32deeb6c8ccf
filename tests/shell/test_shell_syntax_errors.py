"""Scripts that are not well formed, beside bash: what is reported, on which line, and what runs all the same."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from spoilt_programs import spoilt

from planaria_shell.errors import ShellSyntaxError
from planaria_shell.shell import Shell
from planaria_shell.state.streams import CapturedOutput, NullStream
from planaria_shell.syntax.parser import parse

BASH = shutil.which("bash")
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}

#: Each a script in which `\\n` and `\\t` stand for a newline and a tab.
SCRIPTS = [
    r's=abcdefgh; j=2; echo "${s:(j?1:0):j}" "${s:j?(j?1:0):0:j}" "${s:j>1?3:1:2}" ${s: j ? 1 : 0 } "${s:1:j?2:3}"',
    r"echo ${#:} ; echo after",
    r"echo ${#/}; echo after",
    r"echo ${#%}; echo after",
    r"echo ${#=}; echo after",
    r"echo ${#+}; echo after",
    r"echo ${#-} ${#?} ${##} ${#@} ${#*} ${#!} ${#$} | wc -w",
    r"set -- a b; echo ${#:-x} ${#-x} ${#%2} ${##2} ${#/2/x} ${#:0} ${#@} ${#:+y}",
    r"shopt -s expand_aliases\nalias x='echo foo |'\nx cat",
    r'''shopt -s expand_aliases\nalias e='echo "'\ne bar"''',
    r"shopt -s expand_aliases\nalias foo='echo '\nalias bar=baz\nfoo bar\nfoo foo bar",
    r"shopt -s expand_aliases\nalias a1='echo 1'\necho $(a1) `a1`\n(a1)\nif true; then a1; fi; { a1; }",
    r"shopt -s expand_aliases\nalias ll='ls -d'\nalias ls='ls /'\nll",
    r"shopt -s expand_aliases\nalias x='for i in 1 2; do'\nx echo $i; done",
    r"shopt -s expand_aliases\nalias p='echo a; echo b'\np c\ntrue && p d || p e",
    r"shopt -s expand_aliases\nalias e='echo hi # '\ne there\necho next",
    r"shopt -s expand_aliases\nalias A='X=1 '\nalias B='echo b'\nA B\nfunction q { B; }\nalias B='echo c'\nq",
    r"case esac in esac) echo x;; esac",
    r"case esac in (esac) echo x;; esac",
    r"case x in esac) echo x;; esac",
    r"eval 'case esac in esac) ;; esac'; echo $?",
    r"cat <<EOF\nab\\\ncd\nEO\\\nF\necho x\nEOF",
    r"cat <<-EOF\n\ta\n\t\tb\n\tEOF\necho $(cat <<-X\n\tq\n\tX\n)",
    r"""cat <<'E F'\nx $y\nE F\ncat <<"" \nabc\n\necho z""",
    r"cat <<A <<B\na\nA\nb\nB\ncat 3<<C <&3\nc\nC",
    r"cat <<E | tr a-z A-Z; echo after\nhello\nE",
    r"if cat <<E; then echo yes; fi\nhi\nE",
    r"f() { cat <<E; }\nin f $1\nE\nf arg",
    r"""x=1; cat <<E\n$x ${x:-"a b"} $(echo 'q"') `echo \`echo n\`` \$x \\ \a "\"" '$x'\nE""",
    r'while read l; do echo "<$l>"; done <<E\na\nb\nE',
    r"cat <<E; cat <<'F'\n$((1+2))\nE\n$((1+2))\nF",
    r'echo "$(cat <<E\n)\nE\n)"',
    r"echo $(case a in a) echo x;; esac) $(case b in (b) echo y; esac)",
    r"echo $(echo # comment )\n) after",
    r"echo `echo ab cd #efg\necho hij`; echo z",
    r"echo $(( $(echo 1) + `echo 2` )) $((0x1f)) $(( (1) )) $(( 1 ) ) ; echo r",
    r"echo $((echo a); (echo b)) $( (echo c) )",
    r"((echo a); echo b); ( (echo c) )",
    r"true\na[ b",
    r"a[1",
    r"echo a[ b",
    r"declare a[ b",
    r"x=1 a[ b",
    r"x=([a-b]*); echo ${x[0]}",
    r"x=( <> < > ! )\necho after $?",
    r"x=(a & b)\necho after $?",
    r"""printf "%s\\n" -a a=(a 'b  c')\necho after""",
    r'x=1; eval foo=( $x 2 ) bar=() qux=( "bash  x" ); echo ${foo[1]} ${#bar[@]} "${qux[0]}"',
    r"let x=(1+2)*3; echo $x",
    r'let "x=(1+2)" y=(4); echo $x $y',
    r"""a=(ab cd); echo "${a[@]/b/'"'}" "${a[@]/b/'}'}" ${a[@]/b/'"'}""",
    r'''foo='a/b/c'; x=c; echo "${foo%'${x}'}" "${foo%'c'}" "${foo#'a/'}" "${foo//'/'/-}" "${foo/"/"/+}"''',
    r"""echo "${foo:-'a b'}" "${foo:+'a b'}" ${foo:-'a b'} "${y:-'}" """,
    r'''echo "${y:-"a'b"}" "${y-'a'"b"}"''',
    r"declare -a z=(1 2) w=([3]=x); echo ${z[1]} ${w[3]}",
    r"export e=(1); local q=(1); readonly r=(a b); echo ${r[1]}",
    r"declare x=(a b; echo hi",
    r'f() { local -a l=("$@"); echo ${#l[@]}; }; f a "b c"',
    r"command declare -a cc=(1 2 3); echo ${#cc[@]}",
    r"builtin declare -a cd=(1 2 3); echo ${#cd[@]}",
    r"a=( [1]=x [0]=y z ); declare -p a",
    r"a=(\n# comment\n1\n\n2 # c\n3)\ndeclare -p a",
    r"a+=(4) b=(5)\ndeclare -p a b",
    r"a[0]=(1)\necho after $?",
    r"x=abc(def)\necho after",
    r"x= (a)",
    r"x=$y(a)",
    r"echo a=(b)",
    r"if x=(a; then echo; fi\necho after",
    r'''echo "${y:='q}'}"; echo "$y"\nx=1\necho "${x/1/'}'}" "${x#'}'}"\necho "${y:?'msg}'}" "${z:-a'"'b}"''',
    r'''x=1\necho "${y:-'}'}" "${y:-'$x}'}" "${y:-a'b c'd}"\necho "${y:-'a"b'}"\necho "${y:-'a"b}'}"\necho "${y:-'"'}"\necho "${y:-'\\}'}"\necho "${y:-"'"}"\necho "${y:-\\'}"''',
    r"eval -- 'echo a' ; eval foo+=(c); echo ${foo[0]}; eval echo a=b",
    r"[[ ( ) ]]",
    r"[[ ( a",
    r"[[ ( a b ) ]]",
    r'x=$(cat <<EOF\nhi\nEOF)\necho "[$x]"',
    r"cat <<EOF\nx\n",
    r"echo $(cat <<EOF\nx\n)\necho y\n",
    r"f() {\ncat <<EOF\nx\n}\necho y\n",
    r'for ((i=0; "i < 3")); do :; done',
    r"for (( i=0; i < 3; i++; 7 )); do :; done",
    r"for ((i=0)); do :; done",
    r"for ((;;)); do break; done; echo ok",
    r"for ((i=0; i<(2;3); i++)); do :; done",
    r"for ((i=0;i<2;i++)) ; do echo $i; done",
    r"for ((i=0;i<1;i++)) { echo $i; }",
    r"for ((i=0;\ni<2;\ni++)); do echo $i; done",
    r"for ((i=0;i<1\n",
    r"n=3; for ((i=$((n-1)); i<${n:-4}; i++)); do echo $i; done",
    r"nosuch 'a\nb'",
    r"nosuch \\\nx",
    r"nosuch1\nnosuch2 a; nosuch3\necho 'a\nb' $LINENO",
    r"x=1 nosuch 'a\nb\nc' d",
    r"true\nnosuch >/dev/null 'a\nb'\n",
    r"echo a |\nnosuch b |\n cat",
    r"if nosuch 'a\nb'; then :; fi",
    r"eval 'if'; echo rc $?",
    r"true\neval 'nosuch1\nnosuch2'",
    r'f() { nosuch "a\nb"; }; f',
    r'true\necho "abc\n\n',
    r"true\necho 'abc\n\n",
    r"true\necho $(abc\n\n",
    r"true\necho ${abc\n\n",
    r"true\necho `abc\n\n",
    r"true\necho $((1 +\n\n",
    r"true\n((1 +\n\n",
    r"true\na=(1\n2\n",
    r'true\necho a"b\nc',
    r"true\necho $'b\nc",
    r"true\n(echo a\n\n",
    r"true\n{ echo a\n\n",
    r"true\nif true\nthen\n\n",
    r"true\ncase x in\na) echo\n",
    r"""eval 'echo "a'; echo $?""",
    r"eval 'if'; echo $?",
    r"eval '(a'; echo $?",
    r"eval ')'; echo $?",
    r"true\neval 'true\n)'; echo $?",
    r". /dev/null; echo ok",
    r'x=$(\n)\necho "${x:-\n"; echo b',
    r"f() {\n\n",
    r"while true; do echo",
    r"echo a; )",
    r"echo a; fi",
    r"echo a | | b",
    r"for 1x in a; do :; done; echo after",
    r"for x in a; do echo; end",
    r"function { echo; }",
    r"f( ) { echo hi; }; f; f () echo x",
    r"echo ${a b}; echo after",
    r"echo ${}; echo after",
    r"echo $[1 + 2]; echo $[1 + ",
    r"if then",
    r"a=(1 2; echo",
    r"a=(1 & 2)",
    r"echo <",
    r"echo > ; b",
    r"! ! true; echo $?",
    r"! | true",
    r"case a in esac; echo q",
    r"case a in a | b) echo 1;; esac; case b in (a|b) echo 2;& c) echo 3;;& b) echo 4; esac",
    r"select; do",
    r"coproc { true; }; echo c",
    r"echo a &&",
    r"&& b",
    r";; ",
    r"a ;;",
    r"a;;b",
    r"&",
    r" | a",
    r"{ }",
    r"( )",
    r"(( )) ; echo $?",
    r"{ echo a }",
    r"{ echo a; }}",
    r"{echo a; }",
    r"if true; then echo x; fi fi",
    r"for x in a b do echo; done",
    r"for x; do echo $x; done; for x in; do :; done; for x\ndo :; done; for x\nin a\ndo echo $x; done",
    r"while do done",
    r"until false; do break; done; echo $?",
    r"false\n[[ a b ]]\necho after\n",
    r"[[ -n == x ]]",
    r"[[ -n == ]] && echo y",
    r"[[ ]]",
    r"[[ ! ]]\necho x",
    r"[[ a ) ]]",
    r"[[ a ; ]]",
    r"[[ -n ; ]]",
    r"[[ -n ]]",
    r"[[ a == ]]",
    r"[[ a < ; ]]",
    r"[[ a == b c ]]",
    r"[[ a | b ]]",
    r"[[ a == ( ]]",
    r"[[ a",
    r"[[ -n",
    r"[[ ( a )",
    r"[[ a &&",
    r"[[ a == b",
    r"[[ -Q a ]]",
    r"[[ a -Q b ]]",
    r"[[ -f == ]] || echo n\n[[ = ]] && echo q",
    r"[[ a\n== a ]]",
    r"[[ a ==\na ]]",
    r"[[ a &&\nb ]] && echo ok",
    r"eval '[[ a b ]]'; echo rc $?",
    r"[[ a==b ]]; echo $?; [[ a== b ]]",
    r"[[ a]] ]]; echo $?; [[ -eq ]]; echo $?; [[ -a == ]]; echo $?",
    r"f() { [[ a b ]]; }\necho after",
    r"true\na=(1 & 2)\necho after $?",
    r'eval "a=(1 & 2)\necho b"; echo x $?',
    r"f() { a=(1 | 2); }; echo x $?\necho y $?",
    r"if",
]


@pytest.mark.skipif(BASH is None, reason="there is no bash to compare with")
@pytest.mark.parametrize("written", SCRIPTS)
def test_what_is_not_well_formed_is_reported_as_bash_reports_it(written: str, tmp_path: Path) -> None:
    """Output, status and every message with its line are those of bash, for a script with or without a mistake."""
    path = tmp_path / "script"
    path.write_text(written.replace("\\n", "\n").replace("\\t", "\t"))
    real = subprocess.run(
        ["bash", str(path)], env=ENVIRONMENT, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True,
        check=False, timeout=30,
    )  # fmt: skip
    out, err = CapturedOutput(), CapturedOutput()
    shell = Shell(env=ENVIRONMENT, cwd=str(tmp_path), stdin=NullStream(), stdout=out, stderr=err)
    shell.script = str(path)
    shell.run(path.read_text())
    status = shell.finish()
    assert (out.getvalue(), err.getvalue(), status) == (real.stdout, real.stderr, real.returncode)


WORDS = [
    *"ab{}!|&;()#=[]`", "x=1", "$x", '"$x"', "'q'", "if", "then", "else", "elif", "fi", "while", "do", "done", "for",
    "in", "case", "esac", "[[", "]]", "==", "=~", "-n", "-eq", ";;", "&&", "||", "|&", "\n", ">f", ">", "2>&1", "<f",
    "<", "a)", "*)", "(a)", "((", "))", "$(", "$((", "# c", "\\\n", "<<<", "echo", "local", "g()", "function", "time",
    "select", "a=(", "a[0]=1", "a[1 + 2]=3", "${x:-d}", "${#a}", "$'x'", "{a,b}", ";&", ";;&", "until", "<(a)",
    "+(a|b)", "$[1]", "eval", "declare", "export", "a+=(b)", "x=$(a)", "x=`a`",
]  # fmt: skip
COMMANDS = [
    "if a; then b; fi", "for x in a b; do c; done", "for ((i=0;i<3;i++)); do c; done", "while a; do b; done",
    "case $x in a) b;; *) c ;; esac", "{ a; }", "(a; b)", "[[ $x == a && -n b ]]", "a | b", "a && b || c", "! a",
    "echo if then", "f() { a; }", "function g { a; }", "x=(1 2)", "((x + 1))", "echo $((1 + 2))", "echo $(a; b)",
    "cat <<E\nx\nE\n", "echo <(a)", "until a; do b; done", "select x in a; do b; done", "time a", "a=b c=d e",
    "declare -a q=(1 2)", "[[ a =~ (b|c) ]]",
]  # fmt: skip


@pytest.mark.skipif(BASH is None, reason="there is no bash to compare with")
def test_generated_programs_are_accepted_where_bash_accepts_them() -> None:
    """Of programs made of commands and stray words, those are well formed that bash takes for well formed."""
    source = random.Random(1)
    for _ in range(500):
        script = spoilt(source, COMMANDS, WORDS, 3)
        real = subprocess.run(["bash", "-n"], input=script.encode(), capture_output=True, check=False)
        message = ""
        try:
            parse(script)
        except ShellSyntaxError as error:
            # It is empty for a few, as in bash.
            message = error.message
        assert bool(message) == bool(real.stderr), script
