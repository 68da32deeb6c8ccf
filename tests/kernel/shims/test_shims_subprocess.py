"""`subprocess` over the shell's commands, beside the real one."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from preloaded_python import PreloadedPython

pytestmark = pytest.mark.slow

Outcome = Callable[..., str]

_INSTALL = "from planaria_kernel.shims import subprocesses; subprocesses.install()\n"
_BEGIN = """
import asyncio, asyncio.subprocess, os, subprocess, time
from subprocess import DEVNULL, PIPE, STDOUT, Popen, run
def show(function):
    try:
        print(function())
    except BaseException as error:
        print(type(error).__name__, str(error).replace("dash", "sh"))
"""


@pytest.fixture(scope="module")
def preloaded() -> Iterator[PreloadedPython]:
    """Processes that have imported what all programs here do."""
    modules = ["asyncio.subprocess", "planaria_kernel.shims.subprocesses", "planaria_shell"]
    with PreloadedPython(modules) as preloaded:
        yield preloaded


@pytest.fixture
def outcome(preloaded: PreloadedPython) -> Outcome:
    """A function that runs a program with our `subprocess`, or the real one; returns what it prints."""

    def outcome(program: str, directory: Path, *, ours: bool) -> str:
        source = (_INSTALL if ours else "") + _BEGIN + textwrap.dedent(program)
        environment = {"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
        done = preloaded.run(source, ["-c"], directory=directory, environment=environment)
        return (done.stdout + done.stderr).decode()

    return outcome


@pytest.mark.parametrize(
    "program",
    [
        "show(lambda: run(['bash', '-c', 'echo a; echo b >&2; exit 3'], capture_output=True, text=True))",
        "show(lambda: run(['tr', 'a', 'b'], input='banana', text=True, capture_output=True))",
        "show(lambda: run('echo $X; pwd', shell=True, env={'X': '1'}, cwd='/', stdout=PIPE))",
        "show(lambda: run(['env'], env={'X': '1'}, stdout=PIPE))",
        "show(lambda: run('echo out; echo err >&2', shell=True, stdout=PIPE, stderr=STDOUT))",
        "show(lambda: run(['echo', 'x'], stdout=DEVNULL))",
        "show(lambda: run(['no-such-command']))",
        "show(lambda: run(['./no-such-file']))",
        "show(lambda: run(['/etc/passwd']))",
        "show(lambda: run(['/']))",
        "show(lambda: run(['ls'], cwd='/no/such/directory'))",
        "open('s', 'w').write('echo'); os.chmod('s', 0o755); show(lambda: run(['./s']))",
        "open('s', 'w').write('#!/bin/sh\\necho $1'); os.chmod('s', 0o755); show(lambda: run(['./s', 'x'], stdout=PIPE))",
        "show(lambda: run('exit 3', shell=True, check=True))",
        "show(lambda: subprocess.check_output(['echo', 'x'], encoding='utf-8'))",
        "show(lambda: subprocess.check_call(['false']))",
        "show(lambda: subprocess.call(['true']))",
        "show(lambda: subprocess.getstatusoutput('echo hi; exit 2'))",
        "show(lambda: subprocess.getoutput('echo hi'))",
        "show(lambda: (os.system('exit 3'), os.waitstatus_to_exitcode(os.system('exit 3'))))",
        "show(lambda: os.popen('echo popen').read())",
        "show(lambda: os.popen('exit 2').close())",
        "show(lambda: run(['python3', '-c', 'print(6 * 7)'], capture_output=True, text=True).stdout)",
        "show(lambda: run('yes | head -3', shell=True, stdout=PIPE))",
        "show(lambda: run('seq 300000', shell=True, stdout=PIPE).stdout[-7:])",
        "show(lambda: run(['cat'], input=b'x' * 300000, stdout=PIPE).stdout == b'x' * 300000)",
        "show(lambda: run(['echo', 'a'], startupinfo=1))",
        "show(lambda: run(['echo', 'a'], text=True, universal_newlines=False))",
        "show(lambda: run([]))",
        """
        with open('f', 'w') as f:
            f.write('first\\n'); f.flush()
            run(['echo', 'to a file'], stdout=f)
            run(['echo', 'again'], stdout=f.fileno())
        with open('f') as f:
            show(lambda: run(['cat'], stdin=f, capture_output=True))
        """,
        """
        p = Popen(['cat'], stdin=PIPE, stdout=PIPE, text=True)
        p.stdin.write('a\\nb\\n'); p.stdin.close()
        print(list(p.stdout), p.wait(), p.returncode, p)
        """,
        """
        a = Popen(['yes'], stdout=PIPE)
        b = Popen(['head', '-2'], stdin=a.stdout, stdout=PIPE)
        a.stdout.close()
        print(b.communicate(), a.wait(), b.returncode)
        """,
        """
        for command in (['wc', '-c'], ['head', '-c', '100'], ['sed', 'p'], ['sort'], ['cat'], ['bash', '-c', 'read x; sort | cat']):
            a = Popen(['bash', '-c', 'for i in 1 2 3; do echo $i; done; sleep 0.05; echo 4'], stdout=PIPE)
            b = Popen(command, stdin=a.stdout, stdout=PIPE)
            a.stdout.close()
            print(b.communicate(), a.wait(), b.returncode)
        """,
        """
        a = Popen(['bash', '-c', 'for i in 1 2 3 4; do echo $i; done'], stdout=PIPE, bufsize=0)
        print(run(['bash', '-c', 'read x; echo got $x'], stdin=a.stdout, stdout=PIPE), a.stdout.read(2))
        print(run(['sort', '-r'], stdin=a.stdout, stdout=PIPE), a.wait())
        """,
        """
        for command in (['bash', '-c', 'kill -9 $$'], ['bash', '-c', 'kill $$'], ['bash', '-c', 'kill -PIPE $$; echo x']):
            show(lambda: run(command, capture_output=True, check=True))
        show(lambda: subprocess.call('kill -9 $$', shell=True))
        show(lambda: (os.system('kill -9 $$'), os.WTERMSIG(os.system('kill $$'))))
        """,
        "p = Popen(['yes'], stdout=PIPE); print(p.stdout.readline(), p.poll()); p.terminate(); print(p.wait())",
        "p = Popen(['sleep', '10']); print(p.poll()); p.kill(); print(p.wait(), p.poll())",
        "with Popen(['echo', 'x'], stdout=PIPE) as p: print(p.stdout.read(), p.args)\nprint(p.returncode)",
        "p = Popen(['sh', '-c', 'echo o; echo e >&2'], stdout=PIPE, stderr=PIPE); print(p.communicate())",
        """
        try:
            run('echo so far; sleep 5', shell=True, stdout=PIPE, timeout=0.5, text=True)
        except subprocess.TimeoutExpired as error:
            print(error.cmd, error.output)
        """,
        """
        p = Popen(['sleep', '0.4'])
        try:
            p.wait(timeout=0.05)
        except subprocess.TimeoutExpired:
            print('expired', p.returncode)
        print(p.wait())
        """,
        """
        async def main():
            p = await asyncio.create_subprocess_exec('tr', 'a', 'b', stdin=PIPE, stdout=PIPE)
            print(await p.communicate(b'banana'), p.returncode)
            p = await asyncio.create_subprocess_shell('echo 1; sleep 0.1; echo 2; exit 4', stdout=PIPE)
            print([line async for line in p.stdout], await p.wait())
            p = await asyncio.create_subprocess_exec('sleep', '10')
            p.terminate()
            print(await p.wait())
            try:
                await asyncio.create_subprocess_exec('no-such-command')
            except FileNotFoundError as error:
                print(error)
        asyncio.run(main())
        """,
    ],
)
def test_same_as_the_real_one(outcome: Outcome, tmp_path: Path, program: str) -> None:
    """Results, exceptions and side effects are those of CPython's subprocess."""
    outcomes = []
    for ours in (False, True):
        directory = tmp_path / str(ours)
        directory.mkdir()
        outcomes.append(outcome(program, directory, ours=ours))
    assert outcomes[1] == outcomes[0]


def test_timeouts_end_what_never_gives_way(outcome: Outcome, tmp_path: Path) -> None:
    """A loop of the shell and a Python script are ended by a timeout, and what follows runs."""
    program = """
    for command in (['sh', '-c', 'while :; do :; done'], ['python3', '-c', 'while True: pass']):
        try:
            run(command, timeout=0.3)
        except subprocess.TimeoutExpired as error:
            print('expired', error.timeout)
    print(run(['echo', 'on'], stdout=PIPE).stdout, time.sleep.__module__)
    """
    assert outcome(program, tmp_path, ours=True) == "expired 0.3\nexpired 0.3\nb'on\\n' time\n"


def test_sleeps_run_side_by_side(outcome: Outcome, tmp_path: Path) -> None:
    """Commands that sleep do so at the same time: each sleeps until the last one has started."""
    program = """
    script = 'touch $0; until [ -e 5 ]; do sleep 0.05; done'
    processes = [Popen(['bash', '-c', script, str(number)]) for number in range(6)]
    print([p.wait() for p in processes])
    """
    assert outcome(program, tmp_path, ours=True) == "[0, 0, 0, 0, 0, 0]\n"


def test_a_conversation_is_refused(outcome: Outcome, tmp_path: Path) -> None:
    """A command that wants more input than there is, while its stdin is open, is an error that says so."""
    program = """
    p = Popen(['cat'], stdin=PIPE, stdout=PIPE)
    p.stdin.write(b'a'); p.stdin.flush()
    show(p.stdout.read)
    """
    assert "close stdin before reading" in outcome(program, tmp_path, ours=True)


def test_preexec_fn_is_refused(outcome: Outcome, tmp_path: Path) -> None:
    """There is no child in which it could run."""
    assert "preexec_fn" in outcome("show(lambda: run(['ls'], preexec_fn=print))", tmp_path, ours=True)
