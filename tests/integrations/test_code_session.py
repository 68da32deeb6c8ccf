"""Programs of models in a session: functions of the host, variables, final answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import planaria
from planaria.integrations.code_session import CodeSession


@pytest.fixture
def code() -> Iterator[CodeSession]:
    code = CodeSession({"limits": planaria.Limits(timeout=60)})
    yield code
    code.close()


def test_functions_are_called_without_await(code: CodeSession) -> None:
    """Functions are there by name from when they are defined, plain ones and coroutines alike."""

    async def later(text: str, times: int = 2) -> str:
        return text * times

    code.define({"add": lambda a, b=1: a + b})
    code.define({"later": later})
    assert code.run("[add(1), add(1, b=2), later('x', times=3)]").result.value == [2, 3, "xxx"]


def test_function_that_raises(code: CodeSession) -> None:
    """What a function raises is raised in the program, which can catch it."""

    def fail() -> None:
        raise KeyError("key")

    code.define({"fail": fail})
    assert (
        code.run("try:\n    fail()\nexcept KeyError as error:\n    found = error.args[0]\nfound").result.value
        == "key"
    )
    assert isinstance(code.run("fail()").result.error, planaria.ExecutionError)


def test_variables_are_values(code: CodeSession) -> None:
    """Variables stay from program to program."""
    code.assign({"x": {"n": [1, 2]}})
    code.run("x['n'].append(3)")
    assert code.run("x").result.value == {"n": [1, 2, 3]}


def test_final_answer_ends_the_program(code: CodeSession) -> None:
    """The call of a final function ends the program, also inside of `except Exception`, and its answer is a
    value of the host's."""
    answer = object()
    code.define({"final": lambda: answer, "other": lambda: 1}, final=["final"])
    outcome = code.run("y = other()\ntry:\n    final()\nexcept Exception:\n    pass\ny = 2")
    assert outcome.final is not None
    assert outcome.final[0] is answer
    outcome = code.run("y")
    assert (outcome.final, outcome.result.value) == (None, 1)


@pytest.mark.parametrize("names", [{"a b": 1}, {"a.b": 1}, {"": 1}])
def test_names_are_identifiers(code: CodeSession, names: dict[str, Any]) -> None:
    """What is not a name is refused, and changes nothing."""
    with pytest.raises(ValueError, match="is not a name"):
        code.assign(names)
    with pytest.raises(ValueError, match="is not a name"):
        code.define(names)
