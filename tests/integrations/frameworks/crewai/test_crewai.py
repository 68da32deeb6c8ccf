"""Agents of CrewAI on sessions."""

from __future__ import annotations

import asyncio

from crewai.tools import ToolFailure

import planaria
from planaria.integrations.crewai import tools


def test_tools_give_text() -> None:
    """What code gives is text, and what fails a ToolFailure with its text; nothing comes from a cache."""
    with planaria.Session() as session:
        run_python, run_bash, read_file, _ = tools(session)
        assert run_python.run(code="x = 3\nx") == "3"
        assert run_python.run(code="x += 1\nx") == "4"
        assert not run_python.cache_function({}, "4")
        for failed in (run_python.run(code="x / 0"), asyncio.run(run_python.arun(code="x / 0"))):
            assert isinstance(failed, ToolFailure)
            assert failed.message.endswith("ZeroDivisionError: division by zero")
        assert isinstance(read_file.run(path="missing"), ToolFailure)
        assert run_bash.run(command="echo a; exit 3") == "a\nexit status 3"
        drawn = run_python.run(code="import matplotlib.pyplot as plt\nplt.plot([1, 2])\nNone")
        assert drawn == "(1 figure, not shown here)"
