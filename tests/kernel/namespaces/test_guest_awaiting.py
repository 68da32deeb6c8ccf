"""Whether a call is awaited on the spot."""

from __future__ import annotations

import asyncio
import functools
import sys
from typing import Any

import pytest

from planaria_kernel.namespaces.awaiting import is_awaited


class Told:
    """Says, however it is called, whether that call was awaited."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if not is_awaited(sys._getframe(1)):
            return "plain"

        async def answer() -> str:
            return "awaited"

        return answer()

    inner: Any

    def method(self, /, *args: Any, **kwargs: Any) -> Any:
        """The same as a function in Python, which CPython calls in another way."""
        if not is_awaited(sys._getframe(1)):
            return "plain"

        async def answer() -> str:
            return "awaited"

        return answer()


reported = Told()
reported.inner = reported

AWAITED = {
    "no arguments": "await f()",
    "positional": "await f(1, 2)",
    "keywords": "await f(1, a=2)",
    "unpacked": "await f(*[1], **{'a': 2})",
    "attributes": "await f.inner.inner(a=1)",
    "parentheses": "await (f(1))",
    "a method": "await f.method(1)",
    "a method with keywords": "await f.method(1, a=2)",
    "a method, unpacked": "await f.method(*[1], **{'a': 2})",
    "many arguments": f"await f({', '.join(map(str, range(300)))})",
    "in a comprehension": "[await f(one) for one in range(1)][0]",
    "in a format": "f'{await f()}'",
    "by a partial": "await functools.partial(f, 1)()",
    "as an argument": "str(await f())",
}
PLAIN = {
    "a call": "f()",
    "keywords": "f(a=1)",
    "unpacked": "f(*[1], **{'a': 2})",
    "beside an await": "(await f(), f())[1]",
    "as the argument of what is awaited": "(await asyncio.sleep(0, f()))",
    "in a comprehension": "[f() for one in range(1)][0]",
    "a method": "(f.method(1), await f())[0]",
    "a method with keywords": "(f.method(1, a=2), await f())[0]",
    "put aside": "[found := f(), await asyncio.sleep(0)][0]",
    "a lambda": "(lambda: f())()",
}


def value(expression: str) -> Any:
    space: dict[str, Any] = {"f": reported, "asyncio": asyncio, "functools": functools}
    exec(f"async def main():\n    return {expression}\n", space)
    return asyncio.run(space["main"]())


@pytest.mark.parametrize("expression", AWAITED.values(), ids=list(AWAITED))
def test_awaited(expression: str) -> None:
    """A call that is awaited at once is known as one, however its arguments are written."""
    assert value(expression) == "awaited"


@pytest.mark.parametrize("expression", PLAIN.values(), ids=list(PLAIN))
def test_plain(expression: str) -> None:
    """A call whose result goes elsewhere is plain, also beside awaits."""
    assert value(expression) == "plain"


def test_hot() -> None:
    """It is reported also for code that CPython has specialised, and under a tracer."""
    space: dict[str, Any] = {"f": reported}
    exec("async def main():\n    return {(await f.method(), f.method()) for _ in range(3000)}\n", space)
    assert asyncio.run(space["main"]()) == {("awaited", "plain")}
    before = sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        assert asyncio.run(space["main"]()) == {("awaited", "plain")}
    finally:
        sys.settrace(before)


def test_many_codes() -> None:
    """More functions than are remembered are reported as well."""
    for _ in range(600):
        assert value("(await f(), f())") == ("awaited", "plain")
