"""`help()`, `exit` and the debugger without a terminal of their own."""

from __future__ import annotations

import planaria


def test_help_names_no_keys_of_another_prompt() -> None:
    """The introduction of help() is CPython's without the keys of a prompt that is not there."""
    with planaria.Session(stdin="q\n") as session:
        shown = session.execute("help()").stdout
    assert shown.startswith("Welcome to Python 3.15's help utility!")
    assert "enter interactive help" not in shown
    assert 'enter "q"' in shown


def test_exit_says_how_to_use_it() -> None:
    """`exit` without a call says how to use it, as with CPython."""
    with planaria.Session() as session:
        assert session.execute("exit").repr == "Use exit() or Ctrl-D (i.e. EOF) to exit"


def test_the_debugger_ends_with_its_input() -> None:
    """breakpoint() follows commands from standard input, and quits without a question at its end."""
    with planaria.Session(stdin="p 6 * 7\n") as session:
        result = session.run("breakpoint()\nprint('on')")
    assert "42" in result.stdout.split()
    assert "[y/n]" not in result.stdout
    assert "on" not in result.stdout.split()
    assert str(result.error).startswith("BdbQuit")
