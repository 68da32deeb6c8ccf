"""Host functions in the guest: names, signatures, errors."""

from __future__ import annotations

from typing import Any

import pytest


def test_signature_is_checked_in_the_guest(host: Any) -> None:
    """Wrong arguments are refused before anything is sent, with the signature in the message."""
    host.declare(f=[("query", "positional_or_keyword", "str"), ("limit", "keyword_only", "int", "10")])
    for call in ("f()", "f('a', 'b')", "f('a', other=1)"):
        error = host.error(f"await {call}")
        assert error["type"] == "TypeError"
        assert "f(query: str, *, limit: int = 10)" in error["message"]
    report = host.run("await f('a', limit=3)")
    assert report[1] == [(1, "f", ("a",), {"limit": 3})]
    host.finish(("waiting", [(1, "f", (), {})], None, []), f=lambda: None)


def test_variadic_signature(host: Any) -> None:
    """Parameters of every kind can be declared."""
    host.declare(
        f=[("a", "positional_only", None), ("rest", "var_positional", None), ("more", "var_keyword", None)]
    )
    assert host.run("await f(1, 2, x=3)")[1] == [(1, "f", (1, 2), {"x": 3})]


def test_dotted_names(host: Any) -> None:
    """Dotted names make namespaces of any depth."""
    host.declare("tools.web.get", "tools.add")
    report = host.run("await tools.web.get(1) + await tools.add(2)")
    answers = {"tools.web.get": lambda x: x, "tools.add": lambda x: 10 * x}
    assert host.value_of(host.finish(report, **answers)) == 21
    assert "add" in host.run("tools")[1]["repr"]


def test_invoke_and_list(host: Any) -> None:
    """Functions can be called by name and listed; an unknown name is refused with those that are known."""
    host.declare("f", g=[("x", "positional_or_keyword", None)])
    report = host.run("await invoke('f', n=1)")
    assert host.value_of(host.finish(report, f=lambda n: n + 1)) == 2
    listed = host.value("list_callbacks()")
    assert [entry["name"] for entry in listed] == ["f", "g"]
    assert listed[1]["signature"] == "(x)"
    assert "known: f, g" in host.error("await invoke('h')")["message"]


def test_blocking_call(host: Any) -> None:
    """`call` calls a host function without await; its errors arrive as exceptions."""
    host.declare("f")
    host.functions["f"] = lambda x: 10 // x
    assert host.value("def g(): return f.call(5)\ng()") == 2
    error = host.error("f.call(0)")
    assert error["type"] == "ZeroDivisionError"


@pytest.mark.parametrize(
    ("name", "message", "type_", "text"),
    [
        ("ValueError", "bad", "ValueError", "bad"),
        ("KeyError", "k", "KeyError", "'k'"),
        ("FileNotFoundError", "gone", "FileNotFoundError", "gone"),
        ("TimeoutError", "late", "TimeoutError", "late"),
        ("HTTPError", "404", "RuntimeError", "HTTPError: 404"),
        ("UnicodeDecodeError", "x", "RuntimeError", "UnicodeDecodeError: x"),
        ("print", "x", "RuntimeError", "print: x"),
        ("StopIteration", "x", "RuntimeError", "StopIteration: x"),
    ],
)
def test_host_exceptions(host: Any, name: str, message: str, type_: str, text: str) -> None:
    """A host exception arrives as the builtin of the same name where there is one."""
    host.declare("f")
    host.run("await f()")
    error = host.send("resume", [(1, False, (name, message))])[1]
    assert (error["type"], error["message"]) == (type_, text)


def test_redeclaring(host: Any) -> None:
    """Declaring functions again replaces them; names that are gone are gone."""
    host.declare("f", "g")
    host.declare("g")
    assert host.error("f")["type"] == "NameError"
    assert host.value("callable(g)") is True


def test_value_that_cannot_be_sent(host: Any) -> None:
    """An argument that is not serialisable arrives as a Repr."""
    host.declare("f")
    call = host.run("await f(object())")[1][0]
    assert call[2][0].type == "object"


def test_never_awaited(host: Any) -> None:
    """A call that is not awaited is not made, and Python warns about it."""
    host.declare("f")
    with pytest.warns(RuntimeWarning, match="never awaited"):
        host.run("f()\nNone")


def test_arguments_that_cannot_be_sent(host: Any) -> None:
    """A call whose arguments contain themselves fails in the guest; the calls beside it are made."""
    host.declare("f")
    report = host.run(
        "import asyncio\na = []\na.append(a)\nr = await asyncio.gather(f(1), f(a), return_exceptions=True)\nr"
    )
    assert report[1] == [(1, "f", (1,), {})]
    value = host.value_of(host.finish(report, f=lambda x: x))
    assert value[0] == 1
    assert "contains itself" in value[1].text
    assert "contains itself" in host.error("await f(a)")["message"]


def test_answer_for_a_task_left_running(host: Any) -> None:
    """A call made by a task that outlives its cell can be answered between cells."""
    host.declare("f")
    report = host.run("import asyncio\nt = asyncio.create_task(f(1))\nawait asyncio.sleep(0.001)")
    assert report[1] == [(1, "f", (1,), {})]
    import time

    time.sleep(0.002)
    assert host.send("resume", [])[0] == "done"
    assert host.send("resume", [(1, True, 7)]) == ("done", {})
    assert host.value_of(host.run("await t")) == 7
