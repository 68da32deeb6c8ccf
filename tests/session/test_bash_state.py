"""The state of a shell: from call to call, in snapshots and as JSON."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest
from example_counts import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import planaria
from planaria import Counters


def sealed(state: object) -> bytes:
    """The bytes of a snapshot of a shell alone, with the right checksum whatever is in it."""
    document = json.dumps(state).encode()
    return b"planaria-bash-state\n" + sha256(document).hexdigest().encode() + b"\n" + document


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


def test_limits_are_those_of_the_session_that_restores() -> None:
    """A shell restored from a snapshot has the limits of the session it is restored into."""
    with planaria.Session(shell_limits=planaria.ShellLimits(iterations=5)) as bound:
        bound.bash("x=1")
        data = bytes(bound.snapshot_state())
        assert bound.bash("for i in {1..50}; do :; done").exit_code != 0
    with planaria.Session() as free:
        free.restore_state(data)
        assert free.bash("for i in {1..50}; do :; done; echo $x").stdout == "1\n"


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


def test_hard_links_are_made(bash: planaria.Bash) -> None:
    """ln, cp -l and link give a file one more name; a symbolic link is followed with -L only."""
    shown = bash.execute(
        "echo a > f; ln f g; cp -l f h; link f i; ln -s f s; ln -L s j; ln s k; stat -c %h f; readlink k; [ f -ef j ]; echo $?"
    )
    assert (shown.stdout, shown.stderr) == ("5\nf\n0\n", "")
