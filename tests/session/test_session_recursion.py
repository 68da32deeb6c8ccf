"""Recursion as deep as on a desktop, and deeper: an error of the code, never the end of the kernel."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow

NESTED = """
def nested(n, wrap=lambda x: [x]):
    x = wrap(1)
    for _ in range(n): x = wrap(x)
    return x
class Node:
    def __init__(self, child): self.child = child
"""

#: What a desktop's CPython does at its default recursion limit, and the result.
DESKTOP = {
    "lru_cache": (
        "from functools import lru_cache\n@lru_cache(None)\ndef f(n): return n if n < 2 else f(n-1) + f(n-2)\n"
        "len(str(f(400)))",
        84,
    ),
    "__call__": ("class A:\n    def __call__(self, n): return n and 1 + self(n - 1)\nA()(450)", 450),
    "sum": ("def f(n): return n and 1 + sum(f(n - 1) for _ in (1,))\nf(450)", 450),
    "map": ("def f(n): return n and 1 + list(map(f, [n - 1]))[0]\nf(900)", 900),
    "repr": (
        "class A:\n    def __init__(self, x): self.x = x\n    def __repr__(self): return f'<{self.x!r}>'\n"
        "x = 0\nfor _ in range(300): x = A(x)\nlen(repr(x))",
        601,
    ),
    "JSON": ("import json\nlen(json.dumps(json.loads('[' * 900 + ']' * 900)))", 1800),
    "elif": (
        "x = -1\nexec('if x == 0: y = 0\\n' + ''.join(f'elif x == {i}: y = {i}\\n' for i in range(3000)) + 'else: y = -2')\ny",
        -2,
    ),
    "terms": ("eval('+'.join(['1'] * 5000))", 5000),
    "names": ("x = 1\neval('+'.join(['x'] * 3000))", 3000),
    "setrecursionlimit": (
        "import sys\nsys.setrecursionlimit(10**6)\ndef f(n): return n and 1 + f(n - 1)\nf(200_000)",
        200_000,
    ),
}


@pytest.mark.parametrize("name", DESKTOP)
def test_what_a_desktop_does_works(session: Any, name: str) -> None:
    """Recursion through C code and compiling go as deep as on a desktop at the default limits."""
    source, value = DESKTOP[name]
    assert session.execute(source, timeout=120).value == value


#: Functions of a depth without any limit of Python's, which may work or be a RecursionError or MemoryError.
HOSTILE = {
    "release of lists": "nested(n); 1",
    "release of dicts": "nested(n, lambda x: {1: x}); 1",
    "release of tuples": "nested(n, lambda x: (x, 1)); 1",
    "release of instances": "nested(n, Node); 1",
    "release of closures": "f = None\nfor _ in range(n): f = (lambda f: lambda: f)(f)\nf = None",
    "release of exceptions": "e = None\nfor _ in range(n):\n    o, e = e, ValueError()\n    e.__cause__ = o\no = e = None",
    "release of deques": "from collections import deque\nnested(n, lambda x: deque([x])); 1",
    "repr": "repr(nested(n))",
    "repr of dicts": "repr(nested(n, lambda x: {1: x}))",
    "comparison": "nested(n) == nested(n)",
    "hash": "hash(nested(n, lambda x: (x,)))",
    "isinstance": "isinstance(1, nested(n, lambda x: (str if x == 1 else x,)))",
    "issubclass": "issubclass(int, nested(n, lambda x: (str if x == 1 else x,)))",
    "pickle.dumps": "import pickle; pickle.dumps(nested(n))",
    "pickle.loads": "import pickle; pickle.loads(b']' * n + b'a' * (n - 1) + b'.')",
    "marshal": "import marshal; marshal.loads(b'[\\1\\0\\0\\0' * n + b'N')",
    "copy": "import copy; copy.deepcopy(nested(n))",
    "json.loads": "import json; json.loads('[' * n)",
    "json.loads of objects": "import json; json.loads('{\"a\":' * n)",
    "json.dumps": "import json; json.dumps(nested(n))",
    "json.dumps of dicts": "import json; json.dumps(nested(n, lambda x: {'a': x}))",
    "re": "import re; re.compile('(' * n + ')' * n)",
    "match": "import re; re.fullmatch('(?:(?:a|b)*c?)*', 'abc' * n)",
    "elif": "compile('if x: y\\n' + 'elif x: y\\n' * n, '', 'exec')",
    "sum": "compile('+'.join(['x'] * n), '', 'exec')",
    "brackets": "compile('(' * n + ')' * n, '', 'exec')",
    "signs": "compile('-' * n + 'x', '', 'exec')",
    "powers": "compile('x' + '**x' * n, '', 'exec')",
    "attributes": "compile('x' + '.x' * n, '', 'exec')",
    "a syntax tree": "import ast\np = dict(lineno=1, col_offset=0)\nx = ast.Name('x', ast.Load(), **p)\nfor _ in range(n): x = ast.UnaryOp(ast.Not(), x, **p)\n"
    "compile(ast.Expression(x), '', 'eval')",
    "calls": "import sys\nsys.setrecursionlimit(10**6)\ndef f(): return list(map(lambda _: f(), [1]))\nf()",
    "lru_cache": "import sys, functools\nsys.setrecursionlimit(10**6)\nf = functools.lru_cache(lambda n: f(n + 1))\nf(0)",
    "__getattr__": "import sys\nsys.setrecursionlimit(10**6)\nclass A:\n    def __getattr__(self, _): return self.b\nA().a",
    "__repr__": "import sys\nsys.setrecursionlimit(10**6)\nclass A:\n    def __repr__(self): return repr(self)\nrepr(A())",
    "__eq__": "import sys\nsys.setrecursionlimit(10**6)\nclass A:\n    def __eq__(self, o): return self == o\nA() == A()",
    "sorted": "import sys\nsys.setrecursionlimit(10**6)\nf = lambda n: sorted([n], key=f)\nf(0)",
    "exec": "import sys\nsys.setrecursionlimit(10**6)\ns = 'exec(s)'\nexec(s)",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_any_depth_leaves_the_kernel_alive(session: Any, name: str) -> None:
    """However deep, it works or is an error of the code, and the session keeps what it had."""
    session.execute("kept = 1")
    session.execute(NESTED)
    error = session.run(f"n = 200_000\n{HOSTILE[name]}", timeout=120).error
    assert error is None or error.type in ("RecursionError", "MemoryError", "ValueError"), error
    assert session.execute("kept").value == 1


def test_deep_recursion_side_by_side(new_session: Callable[..., Any]) -> None:
    """In threads, in forks and in a callback of another session it is the same error."""
    deep = (
        "import sys\nsys.setrecursionlimit(10**6)\ndef f(): return list(map(lambda _: f(), [1]))\n"
        "try: f()\nexcept RecursionError as e: x = 'C stack' if 'overflow' in str(e) else str(e)\nx"
    )
    session = new_session()
    assert session.execute(deep, timeout=120).value == "C stack"
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda fork=fork: found.append(fork.execute(deep, timeout=240).value))
        for fork in session.fork(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    outer = new_session(callbacks=[{"name": "inner", "fn": lambda: session.execute(deep, timeout=240).value}])
    found.append(outer.execute(f"{deep}\ninner.call() + x", timeout=240).value)
    assert found == ["C stack"] * 4 + ["C stackC stack"]


def test_deep_recursion_leaves_nothing_in_checkpoints(new_session: Callable[..., Any]) -> None:
    """What recursion left on the stack is not part of a session's state."""
    session = new_session()
    session.execute("import sys; sys.setrecursionlimit(10**6)\nx = 1")
    before = len(session.snapshot_state())
    session.run(
        "def f(): return list(map(lambda _: f(), [1]))\ntry: f()\nexcept RecursionError: pass\ndel f",
        timeout=120,
    )
    session.execute("import gc; gc.collect(); 1")
    assert len(session.snapshot_state()) - before < 4 << 20
