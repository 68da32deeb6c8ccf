"""What a type checker makes of programs that use planaria."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import planaria

pytest.importorskip("mypy")
pytestmark = pytest.mark.slow

_SOURCES = Path(planaria.__file__).parents[1]

_PROGRAM = '''
"""What users do with results."""

import planaria


def first(session: planaria.Session) -> str:
    result = session.run("1/0")
    error = result.error
    if error is None:
        return result.stdout
    line: int | None = error.lineno
    rewound: int | None = error.rewound_to
    status: int | None = error.exit_code
    print(line, rewound, status, error.stdout, error.stderr)
    return " ".join([error.type, error.message, error.traceback, error.state])


async def second(session: planaria.AsyncSession) -> str:
    result = await session.run("await ask()")
    if result.error:
        return result.error.traceback
    run = session.run_in_progress
    assert run is not None
    await run.resolve(run.pending[0].id, True)
    return (await run.result()).stdout


def third(session: planaria.Session) -> str:
    try:
        return str(session.execute("2").value)
    except planaria.ExecutionError as error:
        return error.traceback
    except (planaria.TimeoutError, planaria.LimitError, planaria.Interrupted, planaria.CrashError) as error:
        return error.state
    except planaria.PlanariaError as error:
        return error.message
'''


@pytest.mark.parametrize(
    ("program", "complaints"),
    [
        (_PROGRAM, []),
        ('import planaria\n\nprint(planaria.Session().run("1").error.state)\n', ["None"]),
    ],
    ids=["right", "wrong"],
)
def test_errors_of_results(tmp_path: Path, program: str, complaints: list[str]) -> None:
    """A strict mypy knows the attributes of what an execution ended with, and that it may be None."""
    (tmp_path / "program.py").write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "program.py"]
    command += ["--no-error-summary", "--cache-dir", str(tmp_path / "cache")]
    environment = os.environ | {"MYPYPATH": str(_SOURCES)}
    checked = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    lines = checked.stdout.splitlines()
    assert len(lines) == len(complaints), checked.stdout + checked.stderr
    assert all(part in line for part, line in zip(complaints, lines, strict=True))
