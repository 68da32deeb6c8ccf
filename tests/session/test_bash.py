"""The shell of a session, in the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from sys import exit

import pytest

import planaria

# -- what the shell is for -----------------------------------------------------------------------


def test_a_script_gives_output_errors_and_status(bash: planaria.Bash) -> None:
    """A script's standard output, standard error and exit status are the result's."""
    bash.files.write_text("a.csv", "1\n2\n3\n")
    bash.files.write_text("b.csv", "1\n")
    result = bash.execute('x=5; for f in *.csv; do wc -l < "$f"; done; echo oops >&2; (exit 3)')
    assert (result.stdout, result.stderr, result.exit_code) == ("3\n1\n", "oops\n", 3)
    assert bash.execute("echo $x").stdout == "5\n"


def test_nothing_is_left_of_what_warms_the_shell_up(bash: planaria.Bash) -> None:
    """The shell of a new session has no history, functions, jobs or files of scripts that ran before it."""
    assert bash.execute("history; declare -F; alias; jobs; ls -A /tmp").stdout == ""
    assert bash.execute('echo "$!" $PWD "$OLDPWD"; umask').stdout == " /home/user \n0022\n"


def test_the_shell_does_not_see_what_python_does_to_builtins() -> None:
    """Scripts go on as before when code has replaced builtins of Python."""
    with planaria.Session() as session:
        session.execute("import builtins; builtins.any = builtins.zip = builtins.print = None")
        script = "x=abc; f() { echo ${#x} ${x#a}; }; f; printf 'b\\na\\n' | sort | cat -n; (exit 3)"
        result = session.bash(script)
    assert (result.stdout, result.stderr, result.exit_code) == ("3 bc\n     1\ta\n     2\tb\n", "", 3)


def test_output_and_errors_arrive_in_the_order_in_which_they_are_written() -> None:
    """A listener gets standard output and standard error in the order in which a script writes them."""
    script = "echo a; echo b >&2; echo c; ls /nope; echo d; for i in 1 2; do echo $i; echo e$i >&2; done"
    heard: list[tuple[int, bytes]] = []
    with planaria.Bash(on_bytes=lambda descriptor, data: heard.append((descriptor, data))) as bash:
        bash.execute(script)
    joined: list[tuple[int, bytes]] = []
    for descriptor, data in heard:
        if joined and joined[-1][0] == descriptor:
            joined[-1] = (descriptor, joined[-1][1] + data)
        else:
            joined.append((descriptor, data))
    error = b"ls: cannot access '/nope': No such file or directory\n"
    assert joined == [
        (1, b"a\n"), (2, b"b\n"), (1, b"c\n"), (2, error), (1, b"d\n1\n"), (2, b"e1\n"), (1, b"2\n"), (2, b"e2\n"),
    ]  # fmt: skip


@pytest.mark.parametrize("command", ["python3", "python3 -", "bash -c python3", "echo python3 > s; bash s"])
def test_python_runs_what_the_session_has_for_standard_input(command: str) -> None:
    """`python3` without a script runs what the host gives as standard input."""
    with planaria.Bash(stdin="print(6 * 7)\n") as bash:
        result = bash.execute(command)
        assert (result.stdout, result.stderr, result.exit_code) == ("42\n", "", 0)
        assert bash.execute("echo 'print(1)' | python3").stdout == "1\n"


def test_read_shows_its_prompt_when_a_front_end_shows_prompts() -> None:
    """`read -p` writes its prompt once a front end shows prompts, and not to a script's standard error."""
    answers = iter(["Ann", "Bob"])
    with planaria.Bash(stdin=lambda _prompt: next(answers)) as bash:
        assert bash.execute("read -p 'name? ' x; echo $x").stderr == ""
        bash.prompt()
        result = bash.execute("read -p 'name? ' x; echo $x")
        assert (result.stdout, result.stderr) == ("Bob\n", "name? ")


def test_shell_and_python_share_files_and_directory() -> None:
    """What a script writes Python reads, and the other way around; a `cd` or `chdir` holds for both."""
    with planaria.Session() as session:
        session.files.write_text("/home/user/app.log", "error 1\nfine\nerror 2\n")
        assert session.bash("grep -c error /home/user/app.log | tee count.txt").stdout == "2\n"
        session.execute("n = int(open('count.txt').read())\nopen('double.txt', 'w').write(str(2 * n))")
        assert session.bash("cat double.txt").stdout == "4"
        session.bash("mkdir -p deep/er; cd deep/er")
        assert session.execute("import os; os.getcwd()").value == "/home/user/deep/er"
        session.execute("os.chdir('/tmp')")
        assert session.bash("pwd; echo $OLDPWD").stdout == "/tmp\n/home/user/deep/er\n"


# -- commands of the host ----------------------------------------------------------------------------


def test_functions_of_the_host_are_commands() -> None:
    """A command gets arguments, standard input and environment; what it returns is output and status."""
    seen: list[object] = []

    def deploy(arguments: list[str], stdin: bytes, environment: dict[str, str]) -> str:
        seen.append((arguments, stdin, environment.get("MODE")))
        return f"deployed {arguments[0]}\n"

    async def slow(arguments: list[str], stdin: bytes, environment: dict[str, str]) -> bytes:
        await asyncio.sleep(0)
        return stdin.upper()

    def bad(arguments: list[str], stdin: bytes, environment: dict[str, str]) -> None:
        raise RuntimeError("no network")

    def picky(arguments: list[str], stdin: bytes, environment: dict[str, str]) -> tuple[int, str, str]:
        return 4, "out\n", "err\n"

    commands = {"deploy": deploy, "slow": slow, "bad": bad, "picky": picky}
    with planaria.Bash(commands=commands) as bash:
        assert bash.execute("printf in | MODE=test deploy app --now").stdout == "deployed app\n"
        assert seen == [(["app", "--now"], b"in", "test")]
        assert bash.execute("echo abc | slow | tr -d '\\n'; x=$(echo q | slow); echo $x").stdout == "ABCQ\n"
        result = bash.execute("bad; echo $?")
        assert (result.stdout, result.stderr) == ("1\n", "bad: no network\n")
        result = bash.execute("picky")
        assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 4)
        assert bash.execute("picky 2>/dev/null || echo failed").stdout == "out\nfailed\n"
        assert bash.execute("type deploy").exit_code == 0


def test_jobs_go_on_while_the_first_script_of_a_shell_sleeps(bash: planaria.Bash) -> None:
    """What runs in the background goes on while the foreground sleeps or waits for a timeout, and a call does
    not wait for a job that sleeps."""
    script = (
        "(sleep 0.1; echo x > f) & sleep 0.3; cat f; (sleep 0.1; echo y > f) & timeout 0.3 sleep 9; cat f"
    )
    assert bash.execute(script).stdout == "x\ny\n"
    assert bash.execute("sleep 60 & echo begun").stdout == "begun\n"
    assert bash.execute("jobs -r | grep -c sleep; kill $!").stdout == "1\n"


def test_output_streams_while_the_script_runs() -> None:
    """on_stdout hears of a line before the script goes on."""
    heard: list[str] = []

    def so_far(arguments: list[str], stdin: bytes, environment: dict[str, str]) -> str:
        return f"heard {len(''.join(heard).splitlines())}\n"

    with planaria.Bash(on_stdout=heard.append, commands={"so_far": so_far}) as bash:
        bash.execute("echo one; so_far; echo two; so_far")
    assert "".join(heard) == "one\nheard 1\ntwo\nheard 3\n"


def test_bytes_that_are_not_utf8_survive(bash: planaria.Bash) -> None:
    """Any byte but NUL goes through variables, pipes, files and standard input unchanged."""
    every = bytes(range(1, 256))
    bash.files.write_bytes("every", every)
    result = bash.execute('x=$(cat every; echo .); printf %s "${x%.}" | cat; cat', stdin=b"\xff\x00\xfe")
    assert result.stdout_bytes == every + b"\xff\x00\xfe"
    bash.execute("printf '\\xff' > $'n\\xfe'")
    assert bash.execute("for f in n*; do printf %s $f; cat $f; done").stdout_bytes == b"n\xfe\xff"


def test_named_pipes_connect_commands(bash: planaria.Bash) -> None:
    """What one command writes into a named pipe another reads, and tests and listings show what it is."""
    done = bash.execute(
        "mkfifo f && mknod g p; echo hi > f & cat f; wait; [ -p f ] && ls -l f g | cut -c1; rm f g"
    )
    assert (done.stdout, done.stderr, done.exit_code) == ("hi\np\np\n", "", 0)


def test_an_unknown_command_says_so(bash: planaria.Bash) -> None:
    """An unknown command ends with 127 and bash's message, with a suggestion when a name is close."""
    result = bash.execute("frobnicate")
    assert (result.exit_code, result.stderr) == (127, "bash: line 1: frobnicate: command not found\n")
    assert "grep" in bash.execute("grpe x").stderr
    bash.execute("command_not_found_handle() { echo lost $1; return 5; }")
    result = bash.execute("frobnicate")
    assert (result.stdout, result.exit_code) == ("lost frobnicate\n", 5)


def test_a_syntax_error_runs_the_lines_before_it(bash: planaria.Bash) -> None:
    """As in bash, what stands on earlier lines has run; the status is 2."""
    result = bash.execute("echo one\nx=1\nfi\necho two")
    assert (result.stdout, result.exit_code) == ("one\n", 2)
    assert result.stderr.startswith("bash: line 3: syntax error near unexpected token `fi'")
    assert bash.execute("echo $x").stdout == "1\n"


# -- without running ----------------------------------------------------------------------------------


def test_analysis_names_commands_files_and_variables(bash: planaria.Bash) -> None:
    """analyze reports what a script names and runs nothing of it."""
    found = bash.analyze(
        "f() { local t=1; rm -rf /srv/old; }\n"
        'sort < in.txt > out.txt; for n in 1 2; do echo "$HOME $n"; done; f | tee /tmp/log'
    )
    assert found.commands == ["local", "rm", "sort", "echo", "tee"]
    assert found.functions == ["f"]
    assert (found.reads, found.writes, found.paths) == (["in.txt"], ["out.txt"], ["/srv/old", "/tmp/log"])
    assert found.variables == ["HOME", "n"]
    assert set(found.assigned) == {"t", "n"}
    assert not found.dynamic
    assert bash.analyze('"$x" now').dynamic
    assert bash.analyze("eval ls").dynamic
    broken = bash.analyze("touch made\nfi")
    assert broken.commands == ["touch"]
    assert "syntax error" in broken.error
    assert bash.execute("ls").stdout == ""


def test_what_prompt_command_holds_runs_before_prompts(bash: planaria.Bash) -> None:
    """PROMPT_COMMAND runs after each script once prompts are asked for, and `$?` is still the script's."""
    assert bash.execute("PROMPT_COMMAND=('echo one $?' 'echo two $?')").stdout == ""
    bash.prompt()
    result = bash.execute("echo hi; (exit 3)")
    assert (result.stdout, result.exit_code) == ("hi\none 3\ntwo 3\n", 3)
    assert bash.execute("echo $?").stdout == "3\none 0\ntwo 0\n"
    assert bash.execute("PROMPT_COMMAND='exit 7'").exit_code == 7
    assert bash.prompt().has_exited


# -- with await ---------------------------------------------------------------------------------------


def test_the_async_twin_does_the_same() -> None:
    """AsyncBash has every method of Bash, awaited."""

    async def converse() -> None:
        async with planaria.AsyncBash() as bash:
            assert (await bash.execute("x=1; f() { echo f; }; echo data > file; echo $x")).stdout == "1\n"
            data = await bash.snapshot()
            alone = await bash.snapshot(exclude_filesystem=True, exclude_functions=True)
            bare = await bash.snapshot(exclude_functions=True)
            files = await bash.vfs_snapshot()
            await bash.execute("x=2; rm file")
            await bash.vfs_restore(files)
            assert (await bash.execute("echo $x; cat file")).stdout == "2\ndata\n"
            await bash.restore_snapshot(alone)
            assert (await bash.execute("echo $x; f")).exit_code == 127
            await bash.restore_snapshot(data)
            assert (await bash.execute("echo $x; f")).stdout == "1\nf\n"
            assert (await bash.analyze("ls")).commands == ["ls"]
            assert (await bash.counters()).executions > 0
            assert await bash.is_complete("echo a")
            assert not await bash.is_complete("if true")
            assert (await bash.complete("echo a; unali")).matches == ["unalias"]
            assert not (await bash.prompt()).has_exited
            state = await bash.state()
        async with await planaria.AsyncBash.from_state(state) as twin:
            assert (await twin.execute("f")).stdout == "f\n"
        async with await planaria.AsyncBash.from_snapshot(bare) as twin:
            assert (await twin.execute("cat file; f")).exit_code == 127
        with pytest.raises(planaria.SnapshotError):
            await planaria.AsyncBash.from_state({})

    asyncio.run(converse())


# -- python3 in pipelines ------------------------------------------------------------------------


def test_python_in_a_pipeline_reaches_the_host() -> None:
    """A script in a pipeline awaits functions of the host, and reads what the host has for standard input."""

    async def ask(question: str) -> str:
        return f"answer to {question}"

    with planaria.Bash(callbacks=[ask], stdin="first\nsecond\n") as bash:
        bash.files.write_text(
            "a.py", "import asyncio\nasync def main(): print(await ask('q'))\nasyncio.run(main())"
        )
        bash.files.write_text("b.py", "print(input('? '))")
        assert bash.execute("python3 a.py | tr a-z A-Z").stdout == "ANSWER TO Q\n"
        assert bash.execute("python3 b.py | tr a-z A-Z; python3 b.py").stdout == "FIRST\nsecond\n"


def test_python_in_a_pipeline_cannot_suspend() -> None:
    """A host function that wants to suspend there is an error that says where it can."""

    def approve() -> None:
        raise planaria.Suspend("later")

    with planaria.Bash(callbacks=[approve]) as bash:
        bash.files.write_text(
            "a.py", "import asyncio\nasync def main(): await approve()\nasyncio.run(main())"
        )
        result = bash.execute("python3 a.py | cat; echo ${PIPESTATUS[0]}")
        assert result.stdout == "1\n"
        assert "in the session's own code and not in a script that the shell runs" in result.stderr


def test_standard_input_is_text_or_bytes(bash: planaria.Bash) -> None:
    """stdin= that is neither text nor bytes is a TypeError, and never zeros."""
    with pytest.raises(TypeError, match="stdin must be str or bytes, not int"):
        bash.execute("wc -c", stdin=5)  # type: ignore[arg-type]
    assert bash.execute("wc -c", stdin=bytearray(b"abc")).stdout == "3\n"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("leave", "shown"), [(lambda: exit(), "0|"), (lambda: exit(3), "3|"), (lambda: exit("no"), "1|no\n")]
)
def test_sys_exit_in_a_command_is_its_status(leave: Callable[[], None], shown: str) -> None:
    """A command of the host that calls sys.exit, as argparse does, ends with that status like a program."""

    async def waits(arguments: list[str], stdin: bytes, environment: dict[str, str]) -> None:
        leave()

    def plain(arguments: list[str], stdin: bytes, environment: dict[str, str]) -> None:
        leave()

    with planaria.Bash(commands={"plain": plain, "waits": waits}) as bash:
        for name in ("plain", "waits"):
            result = bash.execute(f"{name}; echo $?")
            assert f"{result.stdout.strip()}|{result.stderr}" == shown


def test_a_command_that_could_not_be_called_is_refused() -> None:
    """commands= with a reserved word or a builtin's name, or that is not a mapping, is a CallbackError."""
    from planaria.session.shell_commands import SHADOWED
    from planaria_shell.builtins import BUILTINS

    assert BUILTINS.keys() <= SHADOWED
    for name in ("if", "echo", "[["):
        with pytest.raises(planaria.CallbackError, match="it is a word of the shell's own"):
            planaria.Bash(commands={name: lambda arguments, stdin, environment: 0})
    with pytest.raises(planaria.CallbackError, match="maps names to functions"):
        planaria.Bash(commands=[print])  # type: ignore[arg-type]


def test_a_command_that_is_not_there_any_more_says_so(bash: planaria.Bash) -> None:
    """A shell from a snapshot whose commands it was not given names the command and the argument."""
    with planaria.Bash(commands={"deploy": lambda arguments, stdin, environment: "ok"}) as other:
        bash.restore_snapshot(other.snapshot())
    result = bash.execute("deploy")
    assert result.stderr == "deploy: this session has no such command; give it in commands={'deploy': …}\n"
    assert result.exit_code == 1


def test_analysis_of_what_is_nested_deeply_is_no_error(bash: planaria.Bash) -> None:
    """analyze reports a script that is nested too deeply for any parser in `error`."""
    assert "unexpected" in bash.analyze("echo " + "$(" * 3000).error


def test_numbers_may_have_any_number_of_digits(bash: planaria.Bash) -> None:
    """Commands that compute have no bound of 4300 digits; Python in the same session keeps its own."""
    script = "bc <<< '2^20000' | tr -d '\\\\\\n' | wc -c; expr 1$(printf %05000d) + 1 | wc -c; printf %d 1$(printf %05000d)"
    result = bash.execute(script)
    assert result.stdout == "6021\n5002\n9223372036854775807"
    done = "subprocess.run(['bc'], input='2^20000', capture_output=True, text=True).stdout"
    assert len(bash.session.execute(f"import subprocess; {done}").value) > 6021
    assert "4300 digits" in str(bash.session.run("str(2**20000)").error)
    assert "4300 digits" in bash.execute("python3 -c 'print(2**20000)'").stderr


def test_a_function_of_the_sessions_python_is_a_command() -> None:
    """What `planaria_kernel.sandbox.bash.command` decorates is a command, also asynchronous, in pipelines, in subprocess
    and after a snapshot; what it raises is an error of the command."""
    code = """
import asyncio, sys
from planaria_kernel.sandbox.bash import command

seen = 0

@command
def count(arguments, stdin, environment):
    global seen
    seen += 1
    return 3, f"{seen} {arguments} {len(stdin)} {environment.get('STAGE')}\\n", "errors\\n"

@command(name="slow-echo")
async def echo(arguments, stdin, environment):
    await asyncio.sleep(0)
    return stdin

@command
def fails(arguments, stdin, environment):
    if arguments:
        sys.exit(4)
    raise ValueError("no")
"""
    with planaria.Session() as session:
        session.execute(code)
        result = session.bash("echo abc | slow-echo | STAGE=test count 'a b'; echo ${PIPESTATUS[@]}")
        assert (result.stdout, result.stderr) == ("1 ['a b'] 4 test\n0 0 3\n", "errors\n")
        result = session.bash("fails; echo $?; fails now; echo $?")
        assert (result.stdout, result.stderr) == ("1\n4\n", "fails: no\n")
        assert session.execute("import subprocess; subprocess.call(['count']), seen").value == (3, 2)
        with planaria.Session.from_snapshot(session.snapshot_state()) as twin:
            assert twin.bash("count").stdout == "3 [] 0 None\n"
