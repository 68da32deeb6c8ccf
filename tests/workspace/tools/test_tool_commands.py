"""Commands as tools: what is given to them, and what comes of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from waiting import wait

from planaria import ToolArgumentError, ToolCallError, ToolEnvironment, ToolNotFound

#: A command that shows what it was called with.
SHOW = f"""
    name: show
    command: [{sys.executable}, -I, -c, "import json, sys; print(json.dumps(sys.argv[1:]))"]
    schema:
      options:
        flag: {{type: boolean, short: f}}
        long-name: {{type: string}}
        short: {{type: string, short: s}}
        n: {{type: integer}}
        ratio: {{type: number}}
        header: {{type: array, short: H}}
        mode: {{enum: [fast, slow]}}
        word: {{pattern: "[a-z]+"}}
        single: {{flag: -single}}
        equals: {{flag: -equals, form: joined}}
        apart: {{form: separate}}
      positional:
        - {{name: first, required: true}}
        - {{name: rest, type: array}}
    recipes:
      preset:
        preset: {{flag: true, header: [a, b], short: x}}
        params: {{first: {{}}, short: {{}}, n: {{default: 7}}}}
"""

SHELL = """
    name: shell
    command: [sh, -c]
    stdin: true
    schema:
      positional: [{name: script, required: true}]
"""


def show(registry: Any, callable: str | None = None, /, **arguments: Any) -> Any:  # noqa: A002
    return json.loads(wait(registry.call("show", callable, arguments)))


@pytest.mark.parametrize(
    ("arguments", "argv"),
    [
        ({}, ["f"]),
        ({"flag": True, "n": 3}, ["-f", "-n", "3", "f"]),
        ({"flag": False, "n": None}, ["f"]),
        ({"long_name": "v", "ratio": 0.5}, ["--long-name", "v", "--ratio", "0.5", "f"]),
        ({"long-name": "v", "ratio": 2}, ["--long-name", "v", "--ratio", "2", "f"]),
        ({"header": ["a", "b c"]}, ["-H", "a", "-H", "b c", "f"]),
        ({"rest": ["x", "y"]}, ["f", "x", "y"]),
        ({"long_name": "--evil", "short": "-x"}, ["--long-name=--evil", "-s-x", "f"]),
        ({"long_name": "", "short": ""}, ["--long-name", "", "-s", "", "f"]),
        ({"n": -3, "equals": "-x"}, ["-n-3", "-equals=-x", "f"]),
        ({"rest": ["-x"]}, ["--", "f", "-x"]),
        ({"short": "$(id); `id` * ~ 'q'"}, ["-s", "$(id); `id` * ~ 'q'", "f"]),
    ],
)
def test_argv_has_options_before_positional_arguments(
    load: Any, arguments: dict[str, Any], argv: list[str]
) -> None:
    """Options stand before positional arguments, and no text is interpreted by a shell."""
    assert show(load(show=SHOW), None, first="f", **arguments) == argv


def test_recipe_gives_presets_defaults_and_what_the_caller_says(load: Any) -> None:
    """A recipe's presets and defaults are given, and a parameter overrides a preset of its name."""
    registry = load(show=SHOW)
    assert show(registry, "preset", first="f") == ["-f", "-s", "x", "-n", "7", "-H", "a", "-H", "b", "f"]
    assert show(registry, "preset", first="f", short="y", n=1) == [
        *("-f", "-s", "y", "-n", "1", "-H", "a", "-H", "b", "f")
    ]


@pytest.mark.parametrize(
    ("callable", "arguments", "message"),
    [
        (None, {}, "show() needs first"),
        (None, {"first": "f", "shrot": "x"}, "show() has no parameter 'shrot'; did you mean 'short'?"),
        (
            "preset",
            {"first": "f", "heade": ["x"]},
            "show.preset() has no parameter 'heade'; there is 'first', 'n', 'short' (tools.show() takes all arguments)",
        ),
        (None, {"first": 3}, "show(): first: expected str, not int (3)"),
        (None, {"first": "f", "n": "3"}, "show(): n: expected int, not str ('3')"),
        (None, {"first": "f", "n": True}, "show(): n: expected int, not bool (True)"),
        (None, {"first": "f", "n": 10**101}, "show(): n: expected a number of at most 100 digits"),
        (None, {"first": "f", "ratio": float("inf")}, "show(): ratio: expected a finite number, not inf"),
        (None, {"first": "f", "header": "x"}, "show(): header: expected a list of str, not str ('x')"),
        (None, {"first": "f", "header": [1]}, "show(): header: expected str, not int (1)"),
        (
            None,
            {"first": "f", "mode": "medium"},
            "show(): mode: expected one of 'fast', 'slow', not 'medium'",
        ),
        (
            None,
            {"first": "f", "word": "ab\n"},
            "show(): word: expected a string that matches [a-z]+, not 'ab\\n'",
        ),
        (None, {"first": "a\0b"}, "show(): first: expected a string without NUL characters"),
        (None, {"first": "f", "long-name": "a", "long_name": "b"}, "show(): 'long_name' is given twice"),
        (
            None,
            {"first": "f", "single": "-x"},
            "show(): single: -single takes no value that begins with '-', which is that of an option",
        ),
        (
            None,
            {"first": "f", "apart": "-x"},
            "show(): apart: --apart takes no value that begins with '-', which is that of an option",
        ),
        (None, {"first": "\ud800"}, "show(): half of a surrogate pair cannot be encoded: *"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    load: Any,
    callable: str | None,  # noqa: A002
    arguments: dict[str, Any],
    message: str,
) -> None:
    """An argument that is unknown, missing, of another type or not allowed is refused before anything runs."""
    with pytest.raises(ToolArgumentError) as raised:
        load(show=SHOW).call("show", callable, arguments)
    reported = str(raised.value)
    assert reported == message or (message.endswith("*") and reported.startswith(message[:-1]))
    assert (raised.value.tool, raised.value.callable) == ("show", callable)


def test_direct_false_leaves_only_recipes(load: Any) -> None:
    """A tool with `direct: false` can only be called by its recipes."""
    registry = load(show=SHOW.replace("    schema:", "    direct: false\n    schema:"))
    assert [one["name"] for one in registry.list()[0]["callables"]] == ["preset"]
    with pytest.raises(ToolNotFound, match="'show' cannot be called itself; there is 'preset'"):
        registry.call("show", None, {"first": "f"})
    with pytest.raises(ToolArgumentError, match=r"there is 'first', 'n', 'short'$"):
        registry.call("show", "preset", {"first": "f", "header": ["x"]})


def test_recipe_of_the_tools_name_is_the_tool(load: Any) -> None:
    """A recipe that has the tool's own name is what a call of the tool itself runs."""
    registry = load(
        echo="""
        name: echo
        schema: {positional: [{name: one}, {name: two}]}
        recipes:
          echo: {preset: {one: hello}, params: {two: {}}}
        """
    )
    assert wait(registry.call("echo", None, {"two": "world"})) == "hello world\n"


@pytest.mark.parametrize("extra", ["", "double_dash: never\n"])
def test_commands_that_do_not_know_double_dash_get_no_such_value(load: Any, extra: str) -> None:
    """Where `--` would not help, because of the command or of what its options begin with, the value is refused."""
    command = "echo" if not extra else "cat"
    registry = load(
        tool=f"name: tool\ncommand: {command}\n{extra}schema: {{positional: [{{name: text}}]}}",
        plus="name: plus\ncommand: cat\noption_prefixes: -+\nschema: {positional: [{name: text}]}",
    )
    with pytest.raises(ToolArgumentError, match="would read a value that begins with '-' as an option"):
        registry.call("tool", None, {"text": "-n"})
    with pytest.raises(ToolArgumentError, match="would read a value that begins with '\\+' as an option"):
        registry.call("plus", None, {"text": "+x"})


def test_double_dash_always(load: Any) -> None:
    """`double_dash: always` puts `--` before positional arguments, whatever they begin with."""
    registry = load(
        tool="name: tool\ncommand: echo\ndouble_dash: always\nschema: {positional: [{name: text}]}",
    )
    assert wait(registry.call("tool", None, {"text": "x"})) == "-- x\n"
    assert wait(registry.call("tool", None, {})) == "\n"


def test_failing_command_raises_with_what_it_said(load: Any) -> None:
    """A status other than 0 is a ToolCallError with the tool, the status and both outputs."""
    trace: list[Any] = []
    with pytest.raises(ToolCallError, match=r"^shell\(\) exited with status 3: wrong$") as raised:
        wait(
            load(shell=SHELL).call("shell", None, {"script": "echo out; echo wrong >&2; exit 3"}, trace=trace)
        )
    error = raised.value
    assert (error.tool, error.exit_code, error.stdout, error.stderr) == ("shell", 3, "out\n", "wrong\n")
    assert (trace[0].outcome, trace[0].error) == (
        "error",
        "ToolCallError: shell() exited with status 3: wrong",
    )


def test_killed_command_names_the_signal(load: Any) -> None:
    """A command that a signal ended is reported by the signal's name."""
    with pytest.raises(ToolCallError, match=r"was killed by SIGTERM$"):
        wait(load(shell=SHELL).call("shell", None, {"script": "kill -TERM $$"}))


def test_stdin_takes_text_and_bytes(load: Any) -> None:
    """What is given for the parameter `stdin` is read by the command; without it there is nothing to read."""
    registry = load(shell=SHELL)
    assert wait(registry.call("shell", None, {"script": "cat", "stdin": "grün"})) == "grün"
    assert (
        wait(registry.call("shell", None, {"script": "wc -c", "stdin": bytes(range(256)) * 4000})).strip()
        == "1024000"
    )
    assert wait(registry.call("shell", None, {"script": "cat"})) == ""
    assert wait(registry.call("shell", None, {"script": "true", "stdin": "x" * 1_000_000})) == ""


def test_stdin_may_have_another_name_and_be_required(load: Any) -> None:
    """`stdin` may name its parameter, require it, and be exposed by recipes like any other."""
    registry = load(
        jq="""
        name: jq
        command: cat
        stdin: {name: document, required: true}
        schema: {options: {n: {type: boolean}}}
        recipes:
          numbered: {preset: {n: true}, params: {document: {}}}
        """
    )
    assert wait(registry.call("jq", "numbered", {"document": "a"})) == "     1\ta"
    with pytest.raises(ToolArgumentError, match="needs document"):
        registry.call("jq", "numbered", {})


def test_output_that_is_no_text_survives(load: Any) -> None:
    """Bytes that are not UTF-8 come as surrogates, from which they can be made again."""
    text = wait(load(shell=SHELL).call("shell", None, {"script": r"printf '\377\000a'"}))
    assert text.encode("utf-8", "surrogateescape") == b"\xff\x00a"


def test_environment_is_what_is_allowed(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command sees PATH and its like and its own `env`; of the host's other variables only those it may name."""
    monkeypatch.setenv("SECRET", "hidden")
    monkeypatch.setenv("API_KEY", "k1")
    registry = load(
        ToolEnvironment(allow=["API_KEY", "UNSET"], values={"GIVEN": "g"}),
        shell=SHELL + "    env: {KEY: 'v-${API_KEY}-${GIVEN}-${UNSET:-none}', PORT: 80, DOLLAR: '$x'}\n",
    )
    script = 'echo "$KEY $PORT $DOLLAR [$SECRET$API_KEY]"; test -n "$PATH"'
    assert wait(registry.call("shell", None, {"script": script})) == "v-k1-g-none 80 $x []\n"


def test_variables_that_are_not_allowed_are_reported(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A definition that refers to a variable that is not allowed, or not set, fails when it is called and says so."""
    monkeypatch.setenv("SECRET", "hidden")
    registry = load(
        ToolEnvironment(allow=["UNSET"]),
        one="name: one\ncommand: env\nenv: {A: '${SECRET}'}",
        two="name: two\ncommand: env\nenv: {A: '${UNSET}'}",
    )
    with pytest.raises(ToolCallError, match=r"allow it with ToolEnvironment\(allow=\['SECRET'\]\)"):
        wait(registry.call("one", None, {}))
    with pytest.raises(ToolCallError, match=r"\$\{UNSET\} is not set"):
        wait(registry.call("two", None, {}))


def test_answers_have_no_secrets(load: Any) -> None:
    """What a command prints has asterisks in place of the variables in its `env`, also encoded, and no others."""
    environment = ToolEnvironment(values={"TOKEN": "s3cret/value"})
    registry = load(environment, shell=SHELL + "    env: {T: '${TOKEN}', U: '${UNSET:-none}'}\n")
    script = 'echo "$T $U"; printf %s "$T" | base64'
    answer = wait(registry.call("shell", None, {"script": script}))
    assert answer == "************ none\n****************\n"


def test_errors_have_no_secrets(load: Any) -> None:
    """Errors of commands have *** in place of the values of the variables that their definitions refer to."""
    registry = load(
        ToolEnvironment(values={"API_KEY": "k-12345"}),
        shell=SHELL + "    env: {KEY: '${API_KEY}'}\n",
        missing="name: missing\ncommand: /nowhere/${API_KEY}\n",
    )
    with pytest.raises(ToolCallError, match=r"status 3: bad key \*\*\*$") as caught:
        wait(registry.call("shell", None, {"script": 'echo "$KEY"; echo "bad key $KEY" >&2; exit 3'}))
    error = caught.value
    assert (error.exit_code, error.stdout, error.stderr) == (3, "***\n", "bad key ***\n")
    with pytest.raises(ToolCallError, match=r"there is no command '/nowhere/\*\*\*'"):
        wait(registry.call("missing", None, {}))


def test_directory_of_the_definition(load: Any, tmp_path: Path) -> None:
    """`${TOOL_DIR}` is the directory of the definition's file, in the command, its directory and environment."""
    script = tmp_path / "script.sh"
    script.write_text("#!/bin/sh\necho $(pwd) $HERE\n")
    script.chmod(0o755)
    registry = load(
        here="""
        name: here
        command: "${TOOL_DIR}/script.sh"
        cwd: ${TOOL_DIR}
        env: {HERE: "${TOOL_DIR}"}
        """
    )
    assert wait(registry.call("here", None, {})) == f"{tmp_path} {tmp_path}\n"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("command: no-such-command", "tool() *there is no command 'no-such-command'"),
        ("command: ls -l", "give a program's arguments as a list"),
        ("command: /etc/passwd", "'/etc/passwd' cannot be started: Permission denied"),
        ("command: ls\ncwd: /no/such", "there is no directory '/no/such' to run in"),
    ],
)
def test_command_that_cannot_be_started_says_why(load: Any, lines: str, message: str) -> None:
    """A missing program, a missing directory and a command with arguments in one string are distinguished."""
    with pytest.raises(ToolCallError) as raised:
        wait(load(tool=f"name: tool\n{lines}").call("tool", None, {}))
    assert message.rpartition("*")[2] in str(raised.value)


def test_arguments_that_are_too_long_are_reported(load: Any) -> None:
    """Arguments that the system does not take are an error that names standard input as the way."""
    with pytest.raises(ToolCallError, match="give large data to its standard input"):
        wait(load(show=SHOW).call("show", None, {"first": "x" * 5_000_000}))
