from __future__ import annotations

import pytest

from planaria.cli.prompt_syntax import indentation, is_complete


@pytest.mark.parametrize(
    "text",
    [
        "x = 1",
        "await f()",
        "x = (1,\n     2)",
        "for i in x:\n    print(i)\n",
        "for i in x:\n    print(i)\n    ",
        "if x: pass",
        "for i in x:\n    pass\nprint(1)",
        "1 +* 2",
        "'abc",
        "def f[T](x):\n    return x\n",
        "\0",
    ],
)
def test_whole_cells_are_run_by_enter(text: str) -> None:
    """A whole statement, a block with a blank line after it, and what is plainly wrong are complete."""
    assert is_complete(text)


@pytest.mark.parametrize(
    "text",
    [
        "for i in x:",
        "for i in x:\n    print(i)",
        "async with x:",
        "async for i in x:\n    await i",
        "(1,",
        "'''abc",
        "x = \\",
        "@decorated",
        "if x:\n    a\nelse:",
        "def f[T](x):",
        "def f[T](x):\n    return x",
        "class A:\n    def f(self):\n        pass\n\n    def g(self):",
    ],
)
def test_text_that_goes_on_gets_another_line(text: str) -> None:
    """Open brackets, strings and blocks are not complete, also in newer Python than the host's."""
    assert not is_complete(text)


@pytest.mark.parametrize(
    ("line", "indent"), [("x = 1", ""), ("if x:", "    "), ("    y = 2", "    "), ("    if y:  ", "        ")]
)
def test_a_new_line_is_indented_as_the_one_before(line: str, indent: str) -> None:
    """A new line begins as far in as the last one, four further after a colon."""
    assert indentation(line) == indent
