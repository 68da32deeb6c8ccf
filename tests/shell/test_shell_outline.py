"""The outline of functions: which definitions need not be parsed when they are read."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from spoilt_programs import spoilt

from planaria_shell.errors import ShellSyntaxError
from planaria_shell.shell import Shell
from planaria_shell.state.streams import CapturedOutput, NullStream
from planaria_shell.syntax.compound_commands import parse_function_body
from planaria_shell.syntax.nodes import Function
from planaria_shell.syntax.outline import definitions
from planaria_shell.syntax.parser import parse, parser_of

SCRIPTS = Path(__file__).parent / "scripts"

KNOWN = {
    "a line": 'f() { local x=${1:-0}; if [[ $x == a* ]]; then echo "$x"; else : "${x%%.*}"; fi; }',
    "comments and quotes": "f() {\n  # don't \"look\" here\n  echo 'a; b' \"it $x\"  # or here'\n}",
    "loops": 'f() {\n  for x in a b; do\n    while read -r l; do echo $l; done < "$x"\n  done\n\n  until a\n  do\n    b\n  done\n}',
    "case": 'f() {\n  case "$1" in\n    -h|--help) usage; return 0;;\n    (a)\n      b ;;\n    *) echo "no ${1}" >&2\n  esac\n}',
    "lists and pipes": 'f() {\n  [ -n "$1" ] && { a; b & } || ! c | d 2>&1 |\n  e > f\n}',
    "elif": "f() { if a; then b; elif c; then d; elif e; then f; else g; fi 2>/dev/null; }",
    "reserved words as arguments": "f() { echo if then fi done } { esac; }",
}
LEFT = {
    "a here-document": "f() {\n  cat <<E\n}\nE\n}",
    "an array": "f() { a=(1 2); }",
    "a command in a word": "f() { x=$(date); }",
    "a test that is none": "f() { [[ a b ]]; }",
    "a missing end": "f() { if a; then b; }",
    "an empty list": "f() { if a; then fi; }",
    "an open quote": "f() {\n  echo \"a\n}\ng() {\n  echo b\"\n}",
    "a group and more": "f() { a && b c { d; } && e # }",
    "groups and a comment": "f() { a; } && { b; } # }",
    "a comment at the end": "f() { a # }",
    "a subscript with blanks": "f() { a[1 + 2]=3; }",
    "an operator without its command": "f() { a && ; }",
}  # fmt: skip

WORDS = [
    *"ab[]!|&;#$\\`{}", "x=1", "$x", '"$x"', "'q'", "if", "then", "else", "elif", "fi", "while", "do", "done", "for",
    "in", "case", "esac", "[[", "]]", "==", "-n", "-eq", ";;", "&&", "||", "\n", "a;", "fi;", "done;", "};",
    "]];", "x;;", '"$x";', ">f", ">", "2>&1", '>"$f"', "a)", "*)", "-h|--help)", '"a"|b)', "(a)", "#c", "# don't",
    '"q', 'q"', 'q";', "'s", "s'", "it's", "${x:-d}", "${x", "y}", "${x[0]}", "${x%%.*}", "$((1+2))", "((x))",
    "$(a)", "\\\n", "a\\;", "<<E", "<<<", "echo", "local", "g()", "(", "echo;;", "a=(", "a[0]=1", "a[i", "]=2", "${#a}",
    "$'x'", '$"x"', "!x", "{a,b}", "time", "function", ";&", "a#b", "a|b", "a>f", "\r", "x&", "$[1",
]  # fmt: skip
COMMANDS = [
    "if a; then b; fi", "for x in a b; do c; done", "for x; do c; done", "while a; do b; done", "{ a; }", "! a",
    "case $x in a) b;; *) c ;; esac", "[[ $x == a ]] && b", "a | b", "a && b || c", "echo if then",
    "while read -r l; do a; done < f", "# don't", 'echo "a b"', "echo 'a; b'", "until a\ndo\nb\ndone",
    "if a\nthen b\nelif c; then d\nelse e\nfi",
]  # fmt: skip


def misread(script: str) -> list[str]:
    """Definitions that are taken for well formed but are not, or end elsewhere."""
    wrong = []
    known = definitions(script)
    for name, start, body, end in zip(known.names, known.starts, known.bodies, known.ends, strict=True):
        parser = parser_of(script[body:end])
        try:
            parse_function_body(parser, name, 1)
        except ShellSyntaxError as error:
            wrong.append(f"{error.message}: {script[start:end]!r}")
            continue
        if parser.lexer.position != end - body:
            wrong.append(f"ends at {parser.lexer.position}: {script[start:end]!r}")
    return wrong


@pytest.mark.parametrize("name", KNOWN)
def test_well_formed_definitions_are_known(name: str) -> None:
    """A definition made of plain words, quotes, redirections and compound commands is known to be well formed."""
    script = f"\n{KNOWN[name]}\n"
    assert definitions(script).starts == [1]
    assert not misread(script)


@pytest.mark.parametrize("name", LEFT)
def test_other_definitions_are_left_to_the_parser(name: str) -> None:
    """A definition that is wrong, or has in it what the outline does not know, is not taken for well formed."""
    assert definitions(LEFT[name] + "\n").starts == []


def test_definitions_that_differ_in_digits_are_judged_alike() -> None:
    """A body is judged once for all digits in it, here and in later scripts, and each definition has its own."""
    script = "".join(f'f{number}() {{ echo "${{1:-{number}}}" a{number}b; }}\n' for number in range(95, 105))
    for text in (script, "\n" + script, script.replace("; }", "; fi; }"), script):
        found = definitions(text)
        if "fi" in text:
            assert found.starts == []
            continue
        assert found.names == [f"f{number}" for number in range(95, 105)]
        assert [text[begin:end] for begin, end in zip(found.bodies, found.ends, strict=True)] == [
            f'{{ echo "${{1:-{number}}}" a{number}b; }}' for number in range(95, 105)
        ]
        assert misread(text) == []


def test_what_is_known_is_what_the_parser_reads() -> None:
    """Of generated definitions, those that are known parse without an error and end where the outline says."""
    source = random.Random(5)
    known = 0
    for _ in range(400):
        bodies = [spoilt(source, COMMANDS, WORDS, 7)[:-1] for _ in range(20)]
        script = "".join(
            f"f{place}() {{\n{body}\n}}\n" if "\n" in body else f"f{place}() {{ {body} }}\n"
            for place, body in enumerate(bodies)
        )
        known += len(definitions(script).starts)
        assert misread(script) == []
    assert known > 300


@pytest.mark.parametrize("path", sorted(SCRIPTS.iterdir()), ids=lambda path: path.name)
def test_scripts_have_no_definition_that_is_misread(path: Path) -> None:
    """In the scripts of these tests, too, what is known parses and ends where the outline says."""
    assert misread(path.read_text(errors="surrogateescape")) == []


def test_bodies_are_parsed_when_they_are_used() -> None:
    """In a script of many functions, a body becomes a syntax tree when the function is called or shown."""
    script = "".join(f"f{number}() {{ echo {number} $1; }}\n" for number in range(20))
    nodes = [unit.items[0][0] for unit in parse(script)]
    assert all(isinstance(node, Function) and callable(node.definition) for node in nodes)
    out = CapturedOutput()
    shell = Shell(env={}, cwd="/", stdin=NullStream(), stdout=out, stderr=out)
    shell.run(script + "f7 x; declare -f f8; f9() { echo new; }; f9")
    assert out.getvalue().decode() == "7 x\nf8 () \n{ \n    echo 8 $1\n}\nnew\n"


def test_an_error_in_one_of_many_functions_is_reported_where_it_is_defined() -> None:
    """A syntax error in a body is an error of the script although no function is called, and lines before it ran."""
    script = "echo first\n" + "".join(f"f{number}() {{ echo {number}; }}\n" for number in range(20))
    out = CapturedOutput()
    shell = Shell(env={}, cwd="/", stdin=NullStream(), stdout=out, stderr=out)
    shell.run(script + "g() { if true; then fi; }\necho never\n", where="-c: ")
    assert shell.finish() == 2
    assert "line 22: syntax error near unexpected token `fi'" in out.getvalue().decode()
    assert out.getvalue().startswith(b"first\n")
    assert b"never" not in out.getvalue()


def test_lines_in_a_body_that_was_parsed_later_are_those_of_the_script() -> None:
    """LINENO and messages in a function that was parsed at its first call count from the script's beginning."""
    script = "".join(f"f{number}() {{\n  echo $LINENO\n  nosuch\n}}\n" for number in range(12))
    out, err = CapturedOutput(), CapturedOutput()
    shell = Shell(env={}, cwd="/", stdin=NullStream(), stdout=out, stderr=err)
    shell.run(script + "f3")
    assert out.getvalue() == b"14\n"
    assert b"line 15: nosuch: command not found" in err.getvalue()
