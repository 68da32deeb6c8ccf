"""DSPy on sessions: the contract of interpreters, and programs with a scripted model."""

from __future__ import annotations

from collections.abc import Iterator

import dspy
import pytest
from dspy.primitives.code_interpreter import (
    CodeExecutionError,
    CodeInterpreter,
    CodeInterpreterError,
    FinalOutput,
)
from dspy.utils.dummies import DummyLM

import planaria
from planaria.integrations.dspy import PlanariaInterpreter


@pytest.fixture
def interpreter() -> Iterator[PlanariaInterpreter]:
    with PlanariaInterpreter() as interpreter:
        yield interpreter


def test_it_is_an_interpreter(interpreter: PlanariaInterpreter) -> None:
    """It has what the protocol asks for."""
    assert isinstance(interpreter, CodeInterpreter)
    interpreter.start()


def test_output_and_state(interpreter: PlanariaInterpreter) -> None:
    """What is printed comes back, and the last value; variables and definitions stay."""
    assert interpreter.execute("x = 6") is None
    assert interpreter.execute("print('a'); x * n", {"n": 7}) == "a\n42\n"


def test_tools_are_called_by_position_and_keyword(interpreter: PlanariaInterpreter) -> None:
    """Tools may be given at any time, be coroutines, and take arguments by position."""

    def keywords_only(**given: int) -> int:
        return sum(given.values())

    async def later(text: str, times: int = 2) -> str:
        return text * times

    interpreter.tools["total"] = keywords_only
    assert interpreter.execute("total(a=1, b=2)") == "3\n"
    interpreter.tools["later"] = later
    assert interpreter.execute("later('x'), later('y', times=3)") == "('xx', 'yyy')\n"


def test_submit_ends_the_program(interpreter: PlanariaInterpreter) -> None:
    """SUBMIT has the fields of the signature; wrong ones are an error of the code's."""
    assert interpreter.execute("SUBMIT([1, 2])") == FinalOutput({"output": [1, 2]})
    interpreter.output_fields = [{"name": "answer", "type": "str"}, {"name": "score", "type": "float"}]
    with pytest.raises(CodeExecutionError, match="'score'"):
        interpreter.execute("SUBMIT('yes')")
    done = interpreter.execute("try:\n    SUBMIT('yes', score=0.5)\nexcept Exception:\n    pass\nprint('no')")
    assert done == FinalOutput({"answer": "yes", "score": 0.5})


def test_figures_are_submitted(interpreter: PlanariaInterpreter) -> None:
    """A figure of matplotlib that code submits is an image of DSPy's."""
    done = interpreter.execute("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nSUBMIT(plt.gcf())")
    assert done.output["output"].url.startswith("data:image/png;base64,")


def test_errors_by_who_can_repair_them() -> None:
    """The code's errors leave the session usable; what it cannot repair is a CodeInterpreterError."""
    interpreter = PlanariaInterpreter(limits=planaria.Limits(timeout=1))
    with pytest.raises(SyntaxError, match="Invalid Python syntax"):
        interpreter.execute("1 +")
    with pytest.raises(CodeExecutionError, match="ZeroDivisionError"):
        interpreter.execute("x = 1\nx / 0")
    with pytest.raises(CodeExecutionError, match="timed out"):
        interpreter.execute("while True: pass")
    assert interpreter.execute("x") == "1\n"
    with pytest.raises(CodeInterpreterError, match="not a name"):
        interpreter.execute("x", {"not a name": 1})
    interpreter.shutdown()
    with pytest.raises(CodeInterpreterError, match="shut down"):
        interpreter.execute("x")


def test_recursive_language_model() -> None:
    """RLM works on a long text in the sandbox, repairs a failure, asks a sub-model, and submits typed fields."""
    text = "\n".join(f"line {n}: {'secret 7' if n == 700 else 'nothing'}" for n in range(1000))
    steps = [
        "print(len(text), found)",
        "found = [line for line in text.splitlines() if 'secret' in line]\nprint(found)",
        "answer = llm_query(f'Which number? {found}')\nSUBMIT(number=int(answer))",
    ]
    lm = DummyLM([{"reasoning": "next", "code": f"```python\n{step}\n```"} for step in steps])
    rlm = dspy.RLM("text -> number: int", sub_lm=lambda prompt, **_: ["7"])
    with dspy.context(lm=lm, interpreter_factory=PlanariaInterpreter):
        prediction = rlm(text=text)
    assert prediction.number == 7
    outputs = str(prediction.trajectory)
    assert "NameError" in outputs
    assert "line 700: secret 7" in outputs
