"""What docstrings say of parameters."""

from __future__ import annotations

import inspect

import pytest

from planaria.workspace.tools.docstrings import read_docstring

GOOGLE = """Do it.

    With care.

    Args:
        a: First
            and more.
        *b: Others.

    Returns:
        Nothing.
    """
NUMPY = """Do it.

    With care.

    Parameters
    ----------
    a : int
        First
        and more.
    b, c
        Others.

    Returns
    -------
    None
    """
REST = """Do it.

    With care.

    :param int a: First
        and more.
    :param b: Others.
    :returns: Nothing.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, REST])
def test_the_usual_styles(text: str) -> None:
    """Descriptions of parameters are found in the styles of Google, NumPy and reStructuredText."""
    description, parameters = read_docstring(inspect.cleandoc(text))
    assert description == "Do it.\n\nWith care."
    assert parameters["a"] == "First and more."
    assert all(said == "Others." for name, said in parameters.items() if name != "a")
    assert set(parameters) == ({"a", "b", "c"} if text is NUMPY else {"a", "b"})


@pytest.mark.parametrize("text", [None, "", "Only: this.\n\nNote: that."])
def test_no_sections(text: str | None) -> None:
    """A docstring without sections is all description."""
    assert read_docstring(text) == (text or "", {})
