"""Agents of the OpenAI Agents SDK on sessions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from agents import RunContextWrapper, ShellActionRequest, ShellCallData, ShellCommandRequest
from agents.editor import ApplyPatchOperation

import planaria
from planaria.integrations.command_backend import CommandBackend
from planaria.integrations.openai_agents import PlanariaEditor, PlanariaShell

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def backend() -> Iterator[CommandBackend]:
    backend = CommandBackend(planaria.Session())
    yield backend
    backend.close()


def request(*commands: str, **settings: Any) -> ShellCommandRequest:
    action = ShellActionRequest(commands=list(commands), **settings)
    return ShellCommandRequest(RunContextWrapper(None), ShellCallData(call_id="1", action=action))


async def test_each_command_has_its_outcome(backend: CommandBackend) -> None:
    """Commands run one after the other, each with its output and status."""
    result = await PlanariaShell(backend)(request("echo a > f", "cat f; echo b >&2; exit 3"))
    assert [(one.stdout, one.stderr, one.exit_code, one.status) for one in result.output] == [
        ("", "", 0, "completed"),
        ("a\n", "b\n", 3, "completed"),
    ]


async def test_command_that_takes_too_long_is_the_last(backend: CommandBackend) -> None:
    """A command beyond timeout_ms has what it wrote; the ones after it are not run."""
    result = await PlanariaShell(backend)(request("echo begun; sleep 1000", "echo no", timeout_ms=500))
    assert [(one.stdout, one.status) for one in result.output] == [("begun\n", "timeout")]


async def test_patches(backend: CommandBackend) -> None:
    """Files are created, changed, moved and removed; what fails is reported to the model."""
    editor = PlanariaEditor(backend)
    done = await editor.create_file(ApplyPatchOperation("create_file", "d/f.txt", "+one\n+two\n"))
    assert done.status == "completed"
    patch = "@@\n one\n-two\n+three\n"
    done = await editor.update_file(ApplyPatchOperation("update_file", "d/f.txt", patch, move_to="d/g.txt"))
    assert done.status == "completed"
    assert not backend.files.exists("d/f.txt")
    assert backend.files.read("d/g.txt").splitlines() == [b"one", b"three"]
    done = await editor.update_file(ApplyPatchOperation("update_file", "d/g.txt", "@@\n-absent\n+x\n"))
    assert done.status == "failed"
    assert (await editor.delete_file(ApplyPatchOperation("delete_file", "d/g.txt"))).status == "completed"
    done = await editor.delete_file(ApplyPatchOperation("delete_file", "d/g.txt"))
    assert (done.status, done.output) == (
        "failed",
        "[Errno 2] No such file or directory: '/home/user/d/g.txt'",
    )
