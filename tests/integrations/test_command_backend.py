"""Commands and files of a session as adapters use them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

import planaria
from planaria.integrations.awaited import run_command
from planaria.integrations.command_backend import (
    BackendClosed,
    Cancellation,
    CommandBackend,
    CommandCancelled,
    CommandOutputLimit,
    CommandTimeout,
)


@pytest.fixture
def backend() -> Iterator[CommandBackend]:
    backend = CommandBackend(planaria.Session())
    yield backend
    backend.close()


def wait_for(backend: CommandBackend, path: str) -> bytes:
    """The contents of a file that a command in the background writes, once they are there."""
    event = threading.Event()
    while not (backend.files.exists(path) and backend.files.stat(path).size):
        event.wait(0.02)
    return backend.files.read(path)


def test_arguments_are_literal(backend: CommandBackend) -> None:
    """A list of arguments reaches the program as it is."""
    payload = "  $(id) `x` \" ' \\ ; && \n é"
    done = backend.run(["printf", "%s|", payload, ""])
    assert (done.exit_code, done.stdout) == (0, f"{payload}||")


def test_script_directory_environment_and_input(backend: CommandBackend) -> None:
    """A string is a script for bash; cwd, env and stdin are the command's own."""
    done = backend.run(
        'read -r line; echo "$line $X $PWD"; cd /; X=changed', cwd="/tmp", env={"X": "a 'b'"}, stdin=b"in\n"
    )
    assert (done.stdout, done.stderr) == ("in a 'b' /tmp\n", "")
    assert backend.run('echo "$PWD ${X-unset}"').stdout == f"{backend.cwd} unset\n"


def test_programs_do_not_touch_the_session_shell(backend: CommandBackend) -> None:
    """What a program sets is not there in the session's own shell afterwards."""
    backend.session.bash("X=1; f() { echo function; }; alias ls='echo alias'")
    assert backend.run(["f"]).exit_code == 127
    backend.run("X=2; cd /tmp; unset -f f")
    assert backend.session.bash('echo "$X $PWD"; f').stdout == f"1 {backend.cwd}\nfunction\n"


def test_output_is_what_was_written(backend: CommandBackend) -> None:
    """Both streams come as bytes; as text, undecodable bytes are U+FFFD. A status is a result."""
    done = backend.run(["sh", "-c", "printf 'a\\377'; printf '\\376b' >&2; exit 7"])
    assert (done.exit_code, done.stdout_bytes, done.stderr_bytes) == (7, b"a\xff", b"\xfeb")
    assert (done.stdout, done.stderr) == ("a\ufffd", "\ufffdb")


def test_missing_program_is_a_result(backend: CommandBackend) -> None:
    """A program that does not exist has the exit status 127."""
    done = backend.run(["no-such-program"])
    assert done.exit_code == 127
    assert "no-such-program" in done.stderr


def test_output_arrives_while_the_command_runs(backend: CommandBackend) -> None:
    """on_output is called with each chunk before the command has ended."""
    cancellation = Cancellation()
    chunks: list[tuple[int, bytes]] = []

    def heard(descriptor: int, data: bytes) -> None:
        chunks.append((descriptor, data))
        cancellation.requested = True
        backend.session.interrupt()

    with pytest.raises(CommandCancelled) as caught:
        backend.run("echo first; sleep 1000", on_output=heard, cancellation=cancellation)
    assert chunks == [(1, b"first\n")]
    assert caught.value.output.stdout == "first\n"


def test_timeout_has_the_output_so_far(backend: CommandBackend) -> None:
    """A command that takes too long raises CommandTimeout, and the next one works."""
    with pytest.raises(CommandTimeout) as caught:
        backend.run("echo begun; exec sleep 1000", timeout=0.5)
    assert caught.value.output.stdout == "begun\n"
    assert backend.run(["echo", "next"]).stdout == "next\n"


def test_cancelling_stops_the_command(backend: CommandBackend) -> None:
    """cancel() returns when the command has ended, and its process is gone."""
    cancellation = Cancellation()
    caught: list[BaseException] = []

    def run() -> None:
        try:
            backend.run("echo $$ > pid; exec sleep 1000", cancellation=cancellation)
        except CommandCancelled as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    process = wait_for(backend, "pid").decode().strip()
    cancellation.cancel()
    assert cancellation.ended.is_set()
    thread.join()
    assert len(caught) == 1
    assert backend.run(["bash", "-c", f"kill -0 {process}"]).exit_code != 0


def test_command_that_is_cancelled_before_its_turn_never_begins(backend: CommandBackend) -> None:
    """A command that waits for another one can be cancelled at once."""
    first, second = Cancellation(), Cancellation()

    def run(command: str, cancellation: Cancellation) -> None:
        with pytest.raises(CommandCancelled):
            backend.run(command, cancellation=cancellation)

    threads = [
        threading.Thread(target=run, args=("echo x > begun; sleep 1000", first)),
        threading.Thread(target=run, args=("echo x > second", second)),
    ]
    threads[0].start()
    wait_for(backend, "begun")
    threads[1].start()
    second.cancel()
    threads[1].join()
    assert threads[0].is_alive()
    first.cancel()
    threads[0].join()
    assert not backend.files.exists("second")


def test_jobs_outlive_their_command(backend: CommandBackend) -> None:
    """What a command leaves in the background goes on, and writes into no other command's output."""
    done = backend.run("(while [ ! -e go ]; do sleep 0.02; done; echo late; echo done > finished) & echo now")
    assert (done.exit_code, done.stdout) == (0, "now\n")
    assert not backend.files.exists("finished")
    backend.files.write("go", b"")
    assert wait_for(backend, "finished") == b"done\n"
    assert backend.run(["echo", "alone"]).stdout == "alone\n"


def test_stopping_a_command_stops_its_jobs(backend: CommandBackend) -> None:
    """A command that is stopped takes its jobs along, except for those in a session of their own."""
    loop = "until [ -e go ]; do sleep 0.02; done; echo done >"
    with pytest.raises(CommandTimeout):
        backend.run(
            f"sh -c '{loop} child' & echo $! > child.pid; setsid sh -c '{loop} detached' & sleep 1000",
            timeout=1,
        )
    assert not backend.is_running(int(backend.files.read("child.pid")))
    backend.files.write("go", b"")
    assert wait_for(backend, "detached") == b"done\n"
    assert not backend.files.exists("child")


def test_background_programs(backend: CommandBackend) -> None:
    """start() returns a process number that can be asked for and killed; output goes to a file."""
    process = backend.start("echo started; exec sleep 1000", output="log")
    assert wait_for(backend, "log") == b"started\n"
    assert backend.is_running(process)
    assert backend.kill(process)
    assert not backend.is_running(process)
    assert not backend.kill(process)


def test_jobs_are_in_snapshots(backend: CommandBackend) -> None:
    """A job goes on in a session that is restored from a snapshot."""
    backend.run("(while [ ! -e go ]; do sleep 0.02; done; echo done > finished) &")
    snapshot = backend.session.snapshot_state()
    copy = CommandBackend(planaria.Session.from_snapshot(snapshot))
    try:
        copy.files.write("go", b"")
        assert wait_for(copy, "finished") == b"done\n"
        assert not backend.files.exists("finished")
    finally:
        copy.close()


def test_more_output_than_is_kept_is_an_error() -> None:
    """A command that writes more than Limits.output raises, with the beginning."""
    backend = CommandBackend(planaria.Session(limits=planaria.Limits(output=100)))
    try:
        with pytest.raises(CommandOutputLimit) as caught:
            backend.run(["seq", "1000"])
        assert caught.value.output.stdout.startswith("1\n2\n")
    finally:
        backend.close()


def test_closing_ends_a_command() -> None:
    """A command whose session is closed meanwhile raises BackendClosed, and so does everything after."""
    backend = CommandBackend(planaria.Session())
    caught: list[BaseException] = []

    def run() -> None:
        try:
            backend.run("echo x > begun; sleep 1000")
        except BackendClosed as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    wait_for(backend, "begun")
    backend.close()
    thread.join()
    assert len(caught) == 1
    with pytest.raises(BackendClosed):
        backend.run(["true"])
    with pytest.raises(BackendClosed):
        backend.files.exists("begun")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"command": []}, "at least the name"),
        ({"command": ["a\0b"]}, "null characters"),
        ({"command": "true", "env": {"a-b": "1"}}, "not a name"),
        ({"command": "true", "user": "root"}, "run as 'user'"),
    ],
)
def test_impossible_arguments_are_refused(
    backend: CommandBackend, arguments: dict[str, object], message: str
) -> None:
    """Arguments that no command can have raise ValueError."""
    with pytest.raises(ValueError, match=message):
        backend.run(**arguments)  # type: ignore[arg-type]


def test_files(backend: CommandBackend) -> None:
    """Files are read and written with the directories above them, and removed as trees."""
    files = backend.files
    files.upload([("a/b/c", b"1"), ("/tmp/x", b"22")])
    assert files.download(["a/b/c", "/tmp/x"]) == {"a/b/c": b"1", "/tmp/x": b"22"}
    backend.run("ln -s /tmp/x a/link; ln -s loop a/loop; ln -s ../.. a/b/up")
    assert [(one.name, one.is_dir, one.size) for one in files.list("a")][1:] == [
        ("link", False, 2),
        ("loop", False, 4),
    ]
    assert files.real_path("a/link/../new") == "/tmp/new"
    assert files.real_path("a/b/up/x") == f"{backend.cwd}/x"
    with pytest.raises(OSError, match="Too many levels"):
        files.real_path("a/loop")
    files.remove("a")
    assert not files.exists("a")
    assert files.exists("/tmp/x")


def test_errors_of_files_are_those_of_python(backend: CommandBackend) -> None:
    """Each failure is the exception that Python's own functions raise."""
    files = backend.files
    files.write("file", b"")
    backend.run("mkfifo pipe; touch secret; chmod 000 secret; mkdir directory")
    with pytest.raises(FileNotFoundError):
        files.read("missing")
    with pytest.raises(IsADirectoryError):
        files.read("directory")
    with pytest.raises(IsADirectoryError):
        files.write("directory", b"")
    with pytest.raises(NotADirectoryError):
        files.write("file/below", b"")
    with pytest.raises(NotADirectoryError):
        files.list("file")
    with pytest.raises(FileExistsError):
        files.make_dir("file")
    with pytest.raises(PermissionError):
        files.read("secret")
    with pytest.raises(PermissionError):
        files.write("secret", b"")
    with pytest.raises(OSError, match="Illegal seek"):
        files.read("pipe")
    for path in (".", backend.cwd, "/", "/home", "directory/.."):
        with pytest.raises(ValueError, match="working directory"):
            files.remove(path)


def test_awaited_command_with_wrong_arguments_ends(backend: CommandBackend) -> None:
    """What cannot be run raises at once, awaited too."""
    for wrong in ({"env": {"1x": ""}}, {"user": "root"}):
        with pytest.raises(ValueError, match=r"1x|root"):
            asyncio.run(asyncio.wait_for(run_command(backend, ["true"], **wrong), 60))


def test_command_cancelled_before_it_began_does_not_run(backend: CommandBackend) -> None:
    """A task that is cancelled at any step ends, and its command has ended or never runs."""

    async def cancelled_after(steps: int) -> None:
        task = asyncio.create_task(run_command(backend, "sleep 1000; touch late"))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 60)

    for steps in range(6):
        asyncio.run(cancelled_after(steps))
    assert not backend.files.exists("late")
