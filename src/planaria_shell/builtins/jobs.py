"""`jobs`, `wait`, `fg`, `bg`, `kill`, `disown` and `suspend`."""

from __future__ import annotations

import re
from collections.abc import Callable

from planaria_shell.builtins.options import _list_signals
from planaria_shell.builtins.registry import BuiltinUsageError, builtin, operands_of, options_of, usage
from planaria_shell.expand.subscripts import is_reference
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.jobs import Job, job_line
from planaria_shell.state.signals import CONT, SIGNALS, signal_number


def _line(shell: Interpreter, job: Job, *, long: bool = False) -> str:
    return job_line(shell.jobs or shell.shown_jobs, job, long=long)


@builtin("jobs")
def jobs(shell: Interpreter, argv: list[str]) -> int:
    if argv[1:2] == ["-x"]:
        return _run_with_jobs(shell, argv[2:])
    options, words = options_of(argv, "lnprs")
    letters = {letter for letter, _ in options}
    chosen = (shell.jobs or shell.shown_jobs).copy()
    status = 0
    if words:
        chosen = []
        for word in words:
            job = shell.find_job(word, listed=True)
            if job is None:
                shell.complain(f"jobs: {word}: no such job")
                status = 1
            else:
                chosen.append(job)
    if "r" in letters:
        chosen = [job for job in chosen if job.status is None and not job.stopped]
    if "s" in letters:
        chosen = [job for job in chosen if job.stopped]
    lines = [
        str(job.process_id) if "p" in letters else _line(shell, job, long="l" in letters) for job in chosen
    ]
    if lines:
        shell.output(("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))
    for job in chosen:
        job.reported = job.reported or job.status is not None or bool(job.stopped)
        if job.status is not None:  # told once
            _forget(shell, job)
    return status


def _run_with_jobs(shell: Interpreter, words: list[str]) -> int:
    """`jobs -x`: a command whose job specifications are replaced by process numbers."""
    found = [(word, shell.find_job(word) if word.startswith("%") else None) for word in words]
    argv = [word if job is None else str(job.process_id) for word, job in found]
    return shell.execute(argv) if argv else 0


def _forget(shell: Interpreter, job: Job) -> None:
    shell.remembered_statuses[job.process_id] = job.status or 0
    if job in shell.jobs:
        shell.jobs.remove(job)
    if job.status is not None:
        shell.end_coprocess(job)


def _run_jobs(shell: Interpreter, finished: Callable[[], bool]) -> int:
    """Run the jobs until `finished()` or, for `wait`, a signal with a trap; the status in that case, or 0."""
    while True:
        shell.run_jobs(lambda: bool(shell.pending_signals) or finished())
        if not shell.pending_signals:
            return 0
        number = shell.pending_signals.pop(0)
        trapped = shell.traps.get(SIGNALS[number])
        shell.raise_signal(number)
        if trapped:
            return 128 + number


@builtin("wait")
def wait(shell: Interpreter, argv: list[str]) -> int:
    options, words = options_of(argv, "fnp:")
    given = dict(options)
    if "p" in given:
        if not is_reference(shell, given["p"]):
            raise BuiltinUsageError(f"`{given['p']}': not a valid identifier", 1)
        shell.variables.unset(given["p"])
    if "n" in given:
        return _wait_next(shell, words, given.get("p"))
    if not words:
        interrupted = _run_jobs(shell, lambda: all(job.status is not None for job in shell.jobs))
        if interrupted:
            return interrupted
        shell.report_jobs()
        for each in shell.jobs.copy():
            if each.status is not None:
                _forget(shell, each)
        return 0
    status = 0
    for word in words:
        job = shell.find_job(word)
        if job is None and word == str(shell.last_background):
            # It writes for a `<(…)` that is not read any more.
            job = shell.find_process(int(word))
            if job in shell.orphans:
                shell.orphans.remove(job)
                shell.jobs.append(job)
        if job is None:
            if word.isdecimal() and int(word) in shell.remembered_statuses:
                status = shell.remembered_statuses[int(word)]
                continue
            if word.startswith("%"):
                shell.complain(f"wait: {word}: no such job")
            elif word.isdecimal():
                shell.complain(f"wait: pid {word} is not a child of this shell")
            else:
                shell.complain(f"wait: `{word}': not a pid or valid job spec")
                status = 1
                continue
            status = 127
            continue
        interrupted = _run_jobs(shell, lambda job=job: job.status is not None)  # type: ignore[misc]
        if interrupted:
            return interrupted
        status = job.wait_status()
        if given.get("p"):
            shell.variables.set(given["p"], str(job.process_id))
        shell.report_jobs()
        if job.status is not None:
            _forget(shell, job)
    return status


def _wait_next(shell: Interpreter, words: list[str], variable: str | None) -> int:
    chosen = [] if words else shell.jobs.copy()
    for word in words:
        job = shell.find_job(word)
        if job is None:
            shell.complain(f"wait: {word}: no such job")
        else:
            chosen.append(job)
    if not chosen:
        return 127
    interrupted = _run_jobs(shell, lambda: any(job.status is not None for job in chosen))
    if interrupted:
        return interrupted
    for job in chosen:
        if job.status is not None:
            if variable:
                shell.variables.set(variable, str(job.process_id))
            shell.report_jobs()
            _forget(shell, job)
            return job.status
    return 127


def _shown(word: str) -> str:
    """How errors name a job that was looked for."""
    return "current" if word in ("%+", "%%") else word


@builtin("fg")
def fg(shell: Interpreter, argv: list[str]) -> int:
    if not shell.monitor:
        raise BuiltinUsageError("no job control", 1)
    word = (operands_of(argv) or ["%+"])[0]
    job = shell.find_job(word)
    if job is None:
        raise BuiltinUsageError(f"{_shown(word)}: no such job", 1)
    shell.output(f"{job.text}\n".encode("utf-8", "surrogateescape"))
    job.take(CONT)
    status = shell.wait_job(job)
    if job.status is not None:
        _forget(shell, job)
    return status


@builtin("bg")
def bg(shell: Interpreter, argv: list[str]) -> int:
    if not shell.monitor:
        raise BuiltinUsageError("no job control", 1)
    word = (operands_of(argv) or ["%+"])[0]
    job = shell.find_job(word)
    if job is None:
        raise BuiltinUsageError(f"{_shown(word)}: no such job", 1)
    shell.output(f"[{job.number}]+ {job.text} &\n".encode("utf-8", "surrogateescape"))
    job.take(CONT)
    return 0


@builtin("disown")
def disown(shell: Interpreter, argv: list[str]) -> int:
    options, words = options_of(argv, "ahr")
    letters = {letter for letter, _ in options}
    if not words and letters & {"a", "r"}:
        words = [f"%{job.number}" for job in shell.jobs if not ("r" in letters and job.stopped)]
        if not words:
            return 0
    for word in words or ["%+"]:
        job = shell.find_job(word)
        if job is None:
            raise BuiltinUsageError(f"{_shown(word)}: no such job", 1)
        if "h" not in letters:
            shell.orphans.append(job)
            shell.jobs.remove(job)
    return 0


@builtin("suspend")
def suspend(shell: Interpreter, argv: list[str]) -> int:
    options_of(argv, "f")
    raise BuiltinUsageError("cannot suspend: no job control", 1)


_SIGNAL_OPTION = re.compile(r"-[A-Za-z0-9+-]+\Z")


@builtin("kill")
def kill(shell: Interpreter, argv: list[str]) -> int:
    words = argv[1:]
    if not words:
        return usage(shell, "kill")
    number: int | None = 15
    if words[0] in ("-l", "-L"):
        return _list(shell, words[1:])
    if words[0] in ("-s", "-n"):
        if len(words) < 2:
            raise BuiltinUsageError(f"{words[0]}: option requires an argument", 1)
        number = signal_number(words[1])
        name = words[1]
        words = words[2:]
    elif words[0][:2] in ("-s", "-n"):
        name = words[0][2:]
        number = signal_number(name)
        words = words[1:]
    elif words[0] == "--":
        words = words[1:]
        name = ""
    elif _SIGNAL_OPTION.match(words[0]) and len(words[0]) > 1:
        name = words[0][1:]
        number = signal_number(name)
        words = words[1:]
    else:
        name = ""
    if number is None:
        raise BuiltinUsageError(f"{name}: invalid signal specification", 1)
    if words and words[0] == "--":
        words = words[1:]
    if not words:
        return usage(shell, "kill")
    # It has succeeded when one of them got the signal, which comes once however often a process is named.
    return 0 if sum(_kill_one(shell, word, number) for word in dict.fromkeys(words)) else 1


def _kill_one(shell: Interpreter, word: str, number: int) -> bool:
    if word.lstrip("-").isdecimal():
        target = abs(int(word))
        if target in (0, shell.own_process_id):
            shell.status = 0  # it comes when `kill` has ended
            shell.raise_signal(number)
            return True
        starter = shell.starter
        for other in (shell.main, starter, starter.main if starter is not None else None):
            # It takes the signal when it runs again.
            if other is not None and target == other.own_process_id:
                if number:
                    other.pending_signals.append(number)
                return True
    job = shell.find_process(int(word)) if word.isdecimal() else shell.find_job(word)
    if job is None:
        if word.startswith("%"):
            shell.complain(f"kill: {word}: no such job")
        elif word.lstrip("-").isdecimal():
            shell.complain(f"kill: ({word}) - No such process")
        else:
            wrong = (
                f"{word}: arguments must be process or job IDs" if word else "`': not a pid or valid job spec"
            )
            shell.complain(f"kill: {wrong}")
        return False
    if job.status is not None:
        shell.complain(f"kill: ({word}) - No such process")
        return False
    if number == 0:
        return True
    job.take(number)
    return True


#: What `kill -l` numbers though it is not a signal, and signals that have no name.
_CONDITIONS = {"DEBUG": 65, "ERR": 66, "RETURN": 67}
_UNNAMED = (32, 33)


def _list(shell: Interpreter, words: list[str]) -> int:
    if not words or words[0].startswith("-"):
        _list_signals(shell)
        return 0
    status = 0
    for word in words:
        if word.isdecimal():
            number = int(word)
            number = number - 128 if number > 128 else number
            if number in SIGNALS:
                shell.output(f"{SIGNALS[number]}\n".encode())
                continue
            if number in (0, *_UNNAMED):
                shell.output(b"" if number else b"EXIT\n")
                continue
        else:
            found = _CONDITIONS.get(word.upper())
            if found is None:
                found = signal_number(word)
            if found is not None:
                shell.output(f"{found}\n".encode())
                continue
        shell.complain(f"kill: {word}: invalid signal specification")
        status = 1
    return status
