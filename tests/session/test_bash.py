"""The shell of a session, in the sandbox."""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from hashlib import sha256
from sys import exit

import pytest
from example_counts import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import planaria
from planaria import Counters


@pytest.fixture
def bash() -> Iterator[planaria.Bash]:
    with planaria.Bash() as shell:
        yield shell


@pytest.fixture(scope="module")
def lasting() -> Iterator[planaria.Bash]:
    """A shell for tests that do not mind what was run before."""
    with planaria.Bash() as shell:
        yield shell


def sealed(state: object) -> bytes:
    """The bytes of a snapshot of a shell alone, with the right checksum whatever is in it."""
    document = json.dumps(state).encode()
    return b"planaria-bash-state\n" + sha256(document).hexdigest().encode() + b"\n" + document


# -- what the shell is for -----------------------------------------------------------------------


def test_a_script_gives_output_errors_and_status(bash: planaria.Bash) -> None:
    """A script's standard output, standard error and exit status are the result's."""
    bash.files.write_text("a.csv", "1\n2\n3\n")
    bash.files.write_text("b.csv", "1\n")
    result = bash.execute('x=5; for f in *.csv; do wc -l < "$f"; done; echo oops >&2; (exit 3)')
    assert (result.stdout, result.stderr, result.exit_code) == ("3\n1\n", "oops\n", 3)
    assert bash.execute("echo $x").stdout == "5\n"


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


def test_a_snapshot_is_bytes_and_takes_everything_back(bash: planaria.Bash) -> None:
    """Restoring a snapshot brings back variables, directory and files; another shell can start from it."""
    bash.execute("mkdir data; cd data; arr=(x y); echo 1 > one")
    data = bash.snapshot()
    assert isinstance(data, bytes)
    bash.execute("cd /tmp; export MODE=test; arr+=(z); rm /home/user/data/*")
    bash.restore_snapshot(data)
    shown = 'echo "$PWD ${arr[*]} [$MODE]" *'
    assert bash.execute(shown).stdout == "/home/user/data x y [] one\n"
    with planaria.Bash.from_snapshot(data) as twin:
        assert twin.execute(shown).stdout == "/home/user/data x y [] one\n"


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


# -- state ---------------------------------------------------------------------------------------

LASTING = {
    "variables": ("x=1", "echo $x", "1\n"),
    "attributes": ("declare -i n=2; declare -u big=abc", "n+=3; big+=d; echo $n $big", "5 ABCD\n"),
    "exports": ("export E=here", "env | grep ^E=", "E=here\n"),
    "read-only": ("readonly r=1", "(r=2) 2>&1; echo $r", "bash: line 1: r: readonly variable\n1\n"),
    "indexed arrays": ("a=([3]=c [7]=g)", 'echo "${!a[@]}" "${a[@]}"', "3 7 c g\n"),
    "associative arrays": ("declare -A m=([k]=v)", 'echo "${!m[@]}" "${m[k]}"', "k v\n"),
    "namerefs": ("t=1; declare -n ref=t", "ref=9; echo $t", "9\n"),
    "functions": ("greet() { echo hi $1; }", "greet you", "hi you\n"),
    "set options": ("set -u; set -o pipefail", "false | true; echo $? $-", "1 huBc\n"),
    "shopt options": (
        "shopt -s nullglob extglob",
        "echo nothing* +(y) end; shopt -q extglob; echo $?",
        "end\n0\n",
    ),
    "traps": ("trap 'echo trapped' USR1", "kill -USR1 $$", "trapped\n"),
    "aliases": ("shopt -s expand_aliases; alias say='echo said'", "say so", "said so\n"),
    "positional parameters": ("set -- a 'b c'", 'echo $# "$2"', "2 b c\n"),
    "$?": ("(exit 7)", "echo $?", "7\n"),
    "$!": ("true & last=$!", "[[ $! == $last ]] && echo same", "same\n"),
    "$_": ("echo one two > /dev/null", "echo $_", "two\n"),
    "descriptors": ("printf 'l1\\nl2\\n' > f; exec 5< f; read a <&5", "read b <&5; echo $a $b", "l1 l2\n"),
    "directory stack": ("pushd /usr > /dev/null; pushd /tmp > /dev/null", "dirs", "/tmp /usr ~\n"),
    "umask": ("umask 027", "umask", "0027\n"),
    "RANDOM": (
        "RANDOM=42; first=$RANDOM",
        "second=$RANDOM; RANDOM=42; : $RANDOM; ((second == RANDOM)); echo $?",
        "0\n",
    ),
    "SECONDS": ("SECONDS=1000", "((SECONDS >= 1000)); echo $?", "0\n"),
    "cwd": ("mkdir -p p; cd p", "pwd", "/home/user/p\n"),
    "finished jobs": ("(exit 5) & job=$!", "wait $job; echo $?", "5\n"),
    "getopts": ("set -- -a -b; getopts ab o", "getopts ab o; echo $o $OPTIND", "b 3\n"),
    "history": ("set -o history; history -s one", "history | tail -1 | grep -c one", "1\n"),
}


@pytest.mark.parametrize("kind", LASTING)
def test_state_lasts_from_one_call_to_the_next(bash: planaria.Bash, kind: str) -> None:
    """What one interactive bash would remember, the next call finds."""
    before, after, expected = LASTING[kind]
    assert bash.execute(before).stderr == ""
    result = bash.execute(after).stdout
    assert result == expected


def test_snapshots_forks_and_undo_hold_shell_python_and_files_together() -> None:
    """A fork goes its own way in all three, and undo takes all three back."""
    with planaria.Session() as session:
        session.bash("x=1; echo file1 > f")
        session.execute("y = 1")
        shown = "echo $x $(cat f)"
        [copy] = session.fork()
        with copy:
            copy.bash("x=2; echo file2 > f")
            copy.execute("y = 2")
            assert (copy.bash(shown).stdout, copy.execute("y").value) == ("2 file2\n", 2)
        assert (session.bash(shown).stdout, session.execute("y").value) == ("1 file1\n", 1)
        snapshot = session.snapshot_state()
        session.bash("x=3; echo file3 > f")
        session.undo()
        assert session.bash(shown).stdout == "1 file1\n"
        session.bash("unset x; rm f")
        session.restore_state(snapshot)
        assert (session.bash(shown).stdout, session.execute("y").value) == ("1 file1\n", 1)


def test_a_snapshot_without_files_leaves_them_alone(bash: planaria.Bash) -> None:
    """exclude_filesystem captures the shell only: restoring it touches neither files nor Python."""
    bash.execute("x=1; f() { echo f; }; echo old > file")
    data = bash.snapshot(exclude_filesystem=True)
    bare = bash.snapshot(exclude_filesystem=True, exclude_functions=True)
    bash.session.execute("y = 5")
    bash.execute("x=2; unset -f f; echo new > file")
    bash.restore_snapshot(data)
    assert bash.execute("echo $x; f; cat file").stdout == "1\nf\nnew\n"
    assert bash.session.execute("y").value == 5
    bash.restore_snapshot(bare)
    assert bash.execute("echo $x; f").exit_code == 127


def test_a_snapshot_can_leave_functions_out(bash: planaria.Bash) -> None:
    """exclude_functions captures everything else, and the shell itself keeps its functions."""
    bash.execute("x=1; f() { echo f; }; echo data > file")
    data = bash.snapshot(exclude_functions=True)
    assert bash.execute("f").stdout == "f\n"
    with planaria.Bash.from_snapshot(data) as twin:
        assert twin.execute("echo $x; cat file").stdout == "1\ndata\n"
        assert twin.execute("f").exit_code == 127


def test_the_state_is_readable_json(bash: planaria.Bash) -> None:
    """state() is a versioned document that names variables, functions, options and the directory."""
    bash.execute(
        "x=1; a=(p q); f() { echo f; }; set -u; cd /tmp; trap 'echo bye' EXIT; trap - EXIT; alias l=ls"
    )
    state = bash.state()
    assert json.loads(json.dumps(state)) == state
    assert state["version"] == 1
    assert state["variables"]["x"]["value"] == "1"
    assert state["variables"]["a"]["array"] == [[0, "p"], [1, "q"]]
    assert "echo f" in state["functions"]["f"]["source"]
    assert "nounset" in state["options"]
    assert (state["cwd"], state["aliases"]) == ("/tmp", {"l": "ls"})
    with planaria.Bash.from_state(json.dumps(state)) as twin:
        assert (
            twin.execute('echo $x "${a[@]}" $PWD $-; f').stdout
            == bash.execute('echo $x "${a[@]}" $PWD $-; f').stdout
        )


_texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
_names = st.from_regex(r"v_[a-z0-9_]{1,6}", fullmatch=True)


@given(
    scalars=st.dictionaries(_names, _texts, max_size=4),
    arrays=st.dictionaries(_names, st.dictionaries(st.integers(0, 10**6), _texts, max_size=4), max_size=3),
    maps=st.dictionaries(_names, st.dictionaries(_texts.filter(bool), _texts, max_size=4), max_size=3),
    flags=st.lists(st.sampled_from(["-x", "-r", "-l", "-u", "-i", "-t"]), unique=True, max_size=2),
)
@settings(
    max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_every_declaration_survives_the_state(
    lasting: planaria.Bash,
    scalars: dict[str, str],
    arrays: dict[str, dict[int, str]],
    maps: dict[str, dict[str, str]],
    flags: list[str],
) -> None:
    """Whatever is declared, `declare -p` says the same after state() and back."""
    lasting.restore_snapshot(_fresh_state(lasting))
    lines = [f"s_{name}={_quoted(text)}" for name, text in scalars.items()]
    for letter, found in (("a", arrays), ("A", maps)):
        for name, items in found.items():
            elements = " ".join(f"[{_quoted(str(key))}]={_quoted(text)}" for key, text in items.items())
            lines.append(f"declare -{letter} {letter}_{name}=({elements})")
    lines += [f"declare {' '.join(flags)} s_{name} 2>/dev/null" for name in scalars if flags]
    lasting.execute("\n".join(lines))
    listing = "for n in ${!s_*} ${!a_*} ${!A_*}; do declare -p $n; done"
    before = lasting.execute(listing).stdout_bytes
    with planaria.Bash.from_state(lasting.state()) as twin:
        assert twin.execute(listing).stdout_bytes == before


_fresh: list[bytes] = []


def _fresh_state(bash: planaria.Bash) -> bytes:
    if not _fresh:
        _fresh.append(bash.snapshot(exclude_filesystem=True))
    return _fresh[0]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


@pytest.mark.parametrize(
    "damage",
    [
        lambda state: {**state, "version": 99},
        lambda state: {key: value for key, value in state.items() if key != "functions"},
        lambda state: {**state, "variables": {"x": {"flags": "1"}}},
        lambda state: {**state, "variables": {"x": {"flags": 0, "value": 7}}},
        lambda state: {**state, "functions": {"f": {"source": "not a ( function"}}},
        lambda state: {**state, "options": ["nonsense"]},
        lambda state: {**state, "umask": "x"},
        lambda state: {**state, "random": []},
        lambda state: {**state, "random": ["a", "b"]},
        lambda state: {**state, "counters": []},
        lambda state: {**state, "counters": [None, None]},
        lambda state: {**state, "statuses": {"a": "b"}},
        lambda state: {**state, "disabled_builtins": ["nonsense"]},
        lambda state: {**state, "variables": {"not a name": {"flags": 0, "value": ""}}},
        lambda state: {**state, "variables": {"x": {"flags": 1 << 40, "value": ""}}},
        lambda state: [],
        lambda state: "{",
    ],
)
def test_a_damaged_state_is_refused_and_changes_nothing(lasting: planaria.Bash, damage: object) -> None:
    """from_state and restore_snapshot check everything before they change anything."""
    lasting.execute("x=kept; cd /tmp")
    state = lasting.state()
    damaged = damage(state)  # type: ignore[operator]
    with pytest.raises(planaria.SnapshotError):
        lasting.restore_snapshot(sealed(damaged))
    with pytest.raises(planaria.SnapshotError):
        planaria.Bash.from_state(damaged if isinstance(damaged, str) else json.dumps(damaged))
    assert lasting.execute("echo $x $PWD").stdout == "kept /tmp\n"


@pytest.mark.parametrize("data", [b"", b"nonsense", b"planaria-bash-state\n{", b"planaria-bash-state\n\xff"])
def test_bytes_that_are_no_snapshot_are_refused(lasting: planaria.Bash, data: bytes) -> None:
    """What is not a snapshot, or only half of one, raises SnapshotError and leaves the shell as it was."""
    lasting.execute("x=kept")
    with pytest.raises(planaria.SnapshotError):
        lasting.restore_snapshot(data)
    with pytest.raises(planaria.SnapshotError):
        lasting.restore_snapshot(lasting.snapshot()[:-100])
    assert lasting.execute("echo $x").stdout == "kept\n"


def test_files_alone_go_back_with_their_times(bash: planaria.Bash) -> None:
    """vfs_restore brings back contents, modes and modification times, and leaves variables alone."""
    bash.execute("x=1; echo old > f; touch -d '2001-02-03 04:05:06' f; chmod 640 f; ln -s f link")
    files = bash.vfs_snapshot()
    bash.execute("x=2; echo new > f; rm link; mkdir more")
    bash.vfs_restore(files)
    shown = bash.execute("cat f; stat -c '%Y %a' f; readlink link; ls; echo $x").stdout
    assert shown == "old\n981173106 640\nf\nf\nlink\n2\n"


def test_snapshots_keep_modification_times(bash: planaria.Bash) -> None:
    """A file's modification time is the same in a shell that was restored."""
    bash.execute("echo 1 > f; touch -d '2001-02-03 04:05:06.789' f")
    with planaria.Bash.from_snapshot(bash.snapshot()) as twin:
        assert twin.execute("stat -c %.9Y f").stdout == "981173106.789000000\n"


def test_counters_only_grow_and_are_in_snapshots(bash: planaria.Bash) -> None:
    """Commands and executions are counted; a restored state never sets them back, a new shell goes on."""
    bash.execute("true; true; for i in 1 2 3; do true; done")
    first = bash.counters
    assert first.executions == 1
    assert first.commands >= 5
    state = bash.state()
    bash.execute("true")
    second = bash.counters
    assert second == Counters(first.commands + 1, 2)
    bash.restore_snapshot(sealed(state))
    assert bash.counters >= second
    with planaria.Bash.from_snapshot(bash.snapshot()) as twin:
        assert twin.counters == bash.counters


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


# -- how it ends -----------------------------------------------------------------------------------------


def test_a_timeout_keeps_what_was_reached(bash: planaria.Bash) -> None:
    """A script that runs out of time raises TimeoutError with its output; variables and files stay."""
    with pytest.raises(planaria.TimeoutError) as caught:
        bash.execute("echo begun | tee f; i=0; while :; do ((i++)); done", timeout=0.5)
    assert caught.value.stdout == "begun\n"
    assert bash.execute("((i > 10)) && cat f").stdout == "begun\n"
    with pytest.raises(planaria.TimeoutError):
        bash.execute("sleep 60", timeout=0.3)
    with pytest.raises(planaria.TimeoutError):
        bash.execute("yes > /dev/null", timeout=0.3)
    assert bash.execute("f() { echo $((i > 10)); }; f").stdout == "1\n"


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


# -- limits ----------------------------------------------------------------------------------------------

EXCEEDED = {
    "commands": "while true; do true; done",
    "iterations": "while :; do ((i++)); done",
    "substitution_depth": "f() { echo $(f); }; f",
    "substitution_bytes": "x=$(yes)",
    "variable_bytes": "x=a; while :; do x+=$x; done",
}


@pytest.mark.parametrize("limit", EXCEEDED)
def test_a_limit_is_named_and_keeps_the_output(limit: str) -> None:
    """A script that reaches a limit ends with status 1 and a message with its name; the shell stays usable."""
    bounds = planaria.ShellLimits(
        commands=8_000,
        iterations=5_000,
        substitution_depth=10,
        substitution_bytes=100_000,
        variable_bytes=100_000,
    )
    with planaria.Bash(shell_limits=bounds) as bash:
        result = bash.execute(f"y=1; echo before; {EXCEEDED[limit]}; echo after")
        assert (result.stdout, result.exit_code) == ("before\n", 1)
        assert f"limit reached: {limit} (" in result.stderr
        assert bash.execute("echo $y").stdout == "1\n"
        bash.session.reset()
        assert f"limit reached: {limit} (" in bash.execute(EXCEEDED[limit]).stderr


@pytest.mark.parametrize(
    "growth",
    [
        "while :; do a+=(0123456789); done",
        "while :; do a[i++]=0123456789; done",
        "declare -A m; while :; do m[$((i++))]=0123456789; done",
        'while :; do eval "v$((i++))=0123456789"; done',
        "while :; do x+=0123456789; done",
        "f() { local x=$1$1; f $x; }; f 0123456789",
        "mapfile -t a < <(yes 0123456789)",
        "printf -v x '%*s' 200000 ''",
    ],
)
def test_variables_of_every_kind_are_bounded(growth: str) -> None:
    """Whatever makes variables grow without end is stopped by variable_bytes."""
    with planaria.Bash(shell_limits=planaria.ShellLimits(variable_bytes=100_000)) as bash:
        assert "limit reached: variable_bytes (100000)" in bash.execute(growth, timeout=20).stderr


def test_the_depth_of_functions_is_bounded(bash: planaria.Bash) -> None:
    """Recursion goes deep, and too deep ends with bash's message, the output so far and a living shell."""
    bash.execute("down() { (($1 == 0)) || down $(($1 - 1)); }")
    assert bash.execute("down 1500; echo $?").stdout == "0\n"
    result = bash.execute("echo before; down 100000; echo after")
    assert (result.stdout, result.exit_code) == ("before\n", 1)
    assert "maximum function nesting level exceeded" in result.stderr
    with planaria.Bash(shell_limits=planaria.ShellLimits(function_depth=10)) as shallow:
        shallow.execute("down() { (($1 == 0)) || down $(($1 - 1)); }")
        assert shallow.execute("down 9").exit_code == 0
        assert "(10)" in shallow.execute("down 10").stderr


@pytest.mark.parametrize(
    "bomb",
    [
        "bomb() { bomb | bomb & }",
        "bomb() { bomb & bomb & }",
        "bomb() { (bomb; bomb); }",
        "bomb() { bash -c 'bomb & bomb &'; }; export -f bomb",
        "bomb() { coproc bomb; bomb & }",
    ],
)
def test_a_fork_bomb_ends(bash: planaria.Bash, bomb: str) -> None:
    """What starts itself twice in whatever way ends with an error that says why, and the shell stays usable."""
    result = bash.execute(f"{bomb}; bomb", timeout=60)
    assert "substitution_depth (400)" in result.stderr or "maximum nesting level exceeded" in result.stderr
    assert result.exit_code == 1
    assert bash.execute("echo alive").stdout == "alive\n"


def test_a_full_disk_is_an_error() -> None:
    """Writing without end meets the quota: the message of ENOSPC, a status, and room again after rm."""
    with planaria.Bash(quota=planaria.Quota(bytes=10 << 20)) as bash:
        result = bash.execute("yes > big")
        assert (result.exit_code, result.stderr) == (1, "yes: write error: No space left on device\n")
        result = bash.execute("while echo line; do :; done > more")
        assert "No space left on device" in result.stderr
        assert bash.execute("rm big; echo fits > small; cat small").stdout == "fits\n"


def test_exhausted_memory_is_an_error_of_the_script() -> None:
    """A script that wants more memory than there is ends with status 1; the shell goes on as it was."""
    limits = planaria.Limits(memory=128 << 20)
    with planaria.Bash(limits=limits, shell_limits=planaria.ShellLimits(variable_bytes=None)) as bash:
        result = bash.execute("y=kept; echo before; x=a; while :; do x=$x$x; done")
        assert (result.stdout, result.exit_code) == ("before\n", 1)
        assert result.stderr == "bash: line 1: cannot allocate memory\n"
        assert bash.execute("echo $y").stdout == "kept\n"


@pytest.mark.parametrize("bound", [0, -1, 1.5, True, "many"])
def test_a_bound_that_makes_no_sense_is_refused(bound: object) -> None:
    """ShellLimits takes whole numbers from 1 on, or None."""
    with pytest.raises((ValueError, TypeError), match=r"ShellLimits\(commands="):
        planaria.ShellLimits(commands=bound)  # type: ignore[arg-type]


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


LONG_LOOPS = {
    "numbers": "for ((i = 0; i < 3000; i++)); do ((s += i * i % 7, n ^= s << 40, m = -n / 3)); done; echo $s $n $m",
    "texts": "for i in {1..2000}; do p=/a/b$i/c.tar.gz; x=${p##*/}; y=${x%%.*}; z=${p//b/d}; s+=${z:3:4}; done; "
    "echo $x $y $z ${#s}",
    "arrays": "a=(x); declare -A m; for i in {1..1500}; do a+=($i); m[k$((i % 50))]=$i; a[i / 2]+=y; done; "
    'for x in "${a[@]}"; do n=$((n + ${#x})); done; echo ${#a[@]} $n ${m[k7]} ${a[700]}',
    "calls": "fib() { (($1 < 2)) && { r=$1; return; }; fib $(($1 - 1)); local a=$r; fib $(($1 - 2)); r=$((r + a)); }; "
    "fib 14; echo $r ${a-none}",
    "lines": 'for i in {1..2000}; do echo "line $i  of many"; done | { while read -r a b rest; do ((n += b)); done; '
    "echo $n $rest; }",
    "conditions": "for i in {1..2000}; do case $i in *5) ((n++));; 1*) ((n += 2));; esac; [ $i -gt 1990 ] && echo $i; "
    "[[ $i =~ ^1(.)0+$ ]] && echo ${BASH_REMATCH[1]}; done; echo $n",
    "an end by set -e": "set -e; for i in {1..2000}; do [ $i -lt 1500 ]; n=$i; done; echo not here",
}


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash to compare with")
@pytest.mark.parametrize("name", LONG_LOOPS)
def test_long_loops_do_what_bash_does(bash: planaria.Bash, name: str) -> None:
    """Loops that are long enough to be translated give what real bash gives, the first time and again."""
    script = LONG_LOOPS[name]
    real = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    for _ in range(2):
        result = bash.execute(f"bash -c {shlex.quote(script)}")
        assert (result.stdout, result.exit_code) == (real.stdout, real.returncode)


@pytest.mark.parametrize(
    "loop", ["while :; do ((i++)); done", "f() { while :; do let i++; done; }; f", "sleep 9"]
)
def test_timeout_ends_what_computes(bash: planaria.Bash, loop: str) -> None:
    """`timeout` ends a script that neither writes nor sleeps, as it ends one that sleeps."""
    assert bash.execute(f"timeout 0.2 bash -c '{loop}'; echo $?").stdout == "124\n"


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


def test_limits_are_those_of_the_session_that_restores() -> None:
    """A shell restored from a snapshot has the limits of the session it is restored into."""
    with planaria.Session(shell_limits=planaria.ShellLimits(iterations=5)) as bound:
        bound.bash("x=1")
        data = bytes(bound.snapshot_state())
        assert bound.bash("for i in {1..50}; do :; done").exit_code != 0
    with planaria.Session() as free:
        free.restore_state(data)
        assert free.bash("for i in {1..50}; do :; done; echo $x").stdout == "1\n"


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


@pytest.mark.parametrize(
    ("reader", "lines"),
    [("head -2", 2), ("head", 10), ("head -n 100000", 100_000), ("head -c6 | cat", 3)],
)
def test_python_that_never_stops_writing_ends_with_its_reader(
    bash: planaria.Bash, reader: str, lines: int
) -> None:
    """A script without end is stopped, as by a broken pipe, when the `head` after it has what it wants."""
    result = bash.execute(f"python3 -c 'while True: print(1)' | {reader} | wc -l; echo ${{PIPESTATUS[0]}}")
    assert result.stdout.split() == [str(lines), "141"]
    assert result.stderr == ""


def test_timeout_ends_what_does_not_write(bash: planaria.Bash) -> None:
    """`timeout` in a pipeline ends a command that computes or sleeps, with status 124."""
    for script in ("while True: pass", "import time; time.sleep(60)"):
        result = bash.execute(f"timeout 0.2 python3 -c '{script}' | cat; echo ${{PIPESTATUS[0]}}", timeout=20)
        assert result.stdout == "124\n"


# -- what was found by trying to break it -----------------------------------------------------------------


def test_a_snapshot_without_functions_keeps_open_descriptors(bash: planaria.Bash) -> None:
    """exclude_functions leaves out functions and nothing else: descriptors stay open at their place."""
    bash.execute("f() { :; }; readonly -f f; echo one > log; exec 5>> log 6< log; read -u6 x")
    with planaria.Bash.from_snapshot(bash.snapshot(exclude_functions=True)) as twin:
        assert twin.execute("echo two >&5; read -u6 y; echo $x $y; f").stdout == "one two\n"
        assert twin.execute("f() { echo anew; }; f").stdout == "anew\n"
    with planaria.Bash.from_snapshot(bash.snapshot(exclude_functions=True, exclude_filesystem=True)) as twin:
        assert twin.execute("f() { echo anew; }; f; echo $x").stdout == "anew\none\n"


@given(place=st.integers(min_value=0), bit=st.integers(min_value=0, max_value=7))
@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_changed_bit_of_a_shells_snapshot_is_noticed(lasting: planaria.Bash, place: int, bit: int) -> None:
    """Whatever bit of a snapshot of the shell alone is changed, restoring it raises SnapshotError and changes
    nothing."""
    lasting.execute("kept=1")
    data = bytearray(lasting.snapshot(exclude_filesystem=True))
    lasting.execute("kept=2")
    data[place % len(data)] ^= 1 << bit
    with pytest.raises(planaria.SnapshotError):
        lasting.restore_snapshot(bytes(data))
    assert lasting.execute("echo $kept").stdout == "2\n"


def test_a_snapshot_is_bytes(bash: planaria.Bash) -> None:
    """What is not bytes is a TypeError that says so."""
    for data in ("text", 5, None):
        with pytest.raises(TypeError, match="a snapshot must be bytes"):
            bash.restore_snapshot(data)  # type: ignore[arg-type]


def test_standard_input_is_text_or_bytes(bash: planaria.Bash) -> None:
    """stdin= that is neither text nor bytes is a TypeError, and never zeros."""
    with pytest.raises(TypeError, match="stdin must be str or bytes, not int"):
        bash.execute("wc -c", stdin=5)  # type: ignore[arg-type]
    assert bash.execute("wc -c", stdin=bytearray(b"abc")).stdout == "3\n"  # type: ignore[arg-type]


def test_a_snapshot_is_restored_without_what_is_missing(bash: planaria.Bash) -> None:
    """missing="ignore" restores a snapshot whose callbacks this shell has not."""

    def ask() -> int:
        return 1

    with planaria.Bash(callbacks=[ask]) as other:
        other.execute("x=5")
        data = other.snapshot()
    with pytest.raises(planaria.SnapshotMismatch):
        bash.restore_snapshot(data)
    with planaria.Bash.from_snapshot(data, missing="ignore") as twin:
        assert twin.execute("echo $x").stdout == "5\n"


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


def test_the_status_after_an_interrupt_is_that_of_ctrl_c(bash: planaria.Bash) -> None:
    """After a script was stopped, the error names the script's line, and $? is 130."""
    for loop in (
        "while :; do :; done",
        "while :; do false; done",
        "sleep 9",
        "(sleep 9) | cat",
        "f() {\nsleep 9; }; f",
    ):
        with pytest.raises(planaria.TimeoutError) as caught:
            bash.execute(f"echo one\n\n{loop}", timeout=0.2)
        assert caught.value.lineno == 3 + loop.count("\n")
    assert bash.execute("echo $?").stdout == "130\n"


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


@pytest.mark.parametrize("command", ["grep x", "sort", "diff - /dev/null"])
def test_memory_that_is_used_up_is_no_answer(command: str) -> None:
    """grep, sort and diff that run out of memory end with 2, since 1 would be an answer."""
    with planaria.Bash(limits=planaria.Limits(memory=96 << 20)) as bash:
        result = bash.execute(f"head -c 300000000 /dev/zero | {command}")
        assert (result.exit_code, result.stdout) == (2, "")
        assert bash.execute("echo alive").stdout == "alive\n"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("version", True),
        ("version", 1.0),
        ("umask", -1),
        ("umask", 0o1000),
        ("status", 256),
        ("cwd", "here"),
        ("cwd", "/a\0b"),
        ("positional", ["a\0b"]),
        ("traps", {"NOTHING": ":"}),
        ("aliases", {"a b": "c"}),
        ("seconds", float("inf")),
        ("counters", [-1, 0]),
        ("readonly_functions", ["nothing"]),
        ("variables", {"x": {"flags": 0, "value": "a\0b"}}),
        ("variables", {"x": {"flags": True, "value": "a"}}),
        ("variables", {"x": {"flags": 0, "array": [[0, "a"]]}}),
        ("variables", {"x": {"flags": 128, "array": [[-1, "a"]]}}),
        ("variables", {"x": {"flags": 128, "array": [[1 << 65, "a"]]}}),
        ("variables", {"x": {"flags": 128, "array": [[1, "a"], [1, "b"]]}}),
        ("functions", {"f": {"source": "g() { :; }"}}),
        ("functions", {"f": {"source": "f() { :; }; rm -r /"}}),
        ("functions", {"f": {"source": "f() { :; }\nrm -r /"}}),
        ("functions", {"f": {"source": "f() { :; }", "file": None}}),
    ],
)
def test_a_state_that_no_shell_can_have_is_refused(lasting: planaria.Bash, key: str, value: object) -> None:
    """from_state refuses values that no shell could have reached."""
    with pytest.raises(planaria.SnapshotError):
        planaria.Bash.from_state({**lasting.state(), key: value})


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
