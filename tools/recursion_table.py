"""How deep recursion goes in the sandbox and in a CPython on this machine, as the table in docs/limits.md.

    python tools/recursion_table.py [--python EXECUTABLE] [--kinds WORDS] [--after KIND]

Each kind of recursion is a function of a depth. It is called with growing depths at the default recursion
limit; the table has the greatest that works and how the next one ends. The other CPython runs each call in a
process of its own, whose end by a signal is "crash". The exit status is 1 when a kind ends the sandbox's kernel.
"""

# ruff: noqa: E501 - the programs

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator

import planaria

DEPTHS = (300, 900, 3_000, 10_000, 30_000, 100_000)
#: In seconds, for one call.
TIMEOUT = 15

_NESTED = """
def nested(n, wrap=lambda x: [x]):
    x = wrap(1)
    for _ in range(n): x = wrap(x)
    return x
class Node:
    def __init__(self, child): self.child = child
    def __eq__(self, other): return self.child == other.child
    def __repr__(self): return f"Node({self.child!r})"
    def __hash__(self): return hash(self.child)
"""

#: The body of `def case(n)`, by kind.
KINDS = {
    "a Python function": "def f(n): return n and 1 + f(n - 1)\nf(n)",
    "a Python function, setrecursionlimit(10**6)": """
import sys
sys.setrecursionlimit(10**6)
def f(n): return n and 1 + f(n - 1)
try: f(n)
finally: sys.setrecursionlimit(1000)""",
    "lru_cache": """
from functools import lru_cache
@lru_cache(None)
def f(n): return n if n < 2 else f(n - 1) + f(n - 2)
f(n)""",
    "lru_cache, setrecursionlimit(10**6)": """
import sys
from functools import lru_cache
sys.setrecursionlimit(10**6)
@lru_cache(None)
def f(n): return n if n < 2 else f(n - 1) + 1
try: f(n)
finally: sys.setrecursionlimit(1000)""",
    "__call__": "class A:\n    def __call__(self, n): return n and 1 + self(n - 1)\nA()(n)",
    "sum of a generator": "def f(n): return n and 1 + sum(f(n - 1) for _ in (1,))\nf(n)",
    "map": "def f(n): return n and 1 + list(map(f, [n - 1]))[0]\nf(n)",
    "map, setrecursionlimit(10**6)": """
import sys
sys.setrecursionlimit(10**6)
def f(n): return n and 1 + list(map(f, [n - 1]))[0]
try: f(n)
finally: sys.setrecursionlimit(1000)""",
    "sorted(key=)": "def f(n): return n and 1 + sorted([n - 1], key=f)[0]\nf(n)",
    "functools.partial": "from functools import partial\np = len\nfor _ in range(n): p = partial(partial, p)\np()",
    "functools.reduce": """
from functools import reduce
def f(_, n): return n and 1 + reduce(f, [0, n - 1])
f(0, n)""",
    "__getattr__": """
class A:
    def __getattr__(self, name): return getattr(self, 'a' + name) if len(name) < n else 1
A().b""",
    "__eq__ in Python": "nested(n, Node) == nested(n, Node)",
    "__repr__ in Python": "repr(nested(n, Node))",
    "__hash__ in Python": "hash(nested(n, Node))",
    "a property": "class A:\n    n = 0\n    @property\n    def p(self):\n        self.n += 1\n        return self.n > n or self.p\nA().p",
    "__init_subclass__": "def f(n):\n    class A:\n        def __init_subclass__(cls): n and f(n - 1)\n    class B(A): pass\nf(n)",
    "exec": "def f(n): n and exec('f(n - 1)', {'f': f, 'n': n})\nf(n)",
    "generators in generators": "def g(n):\n    if n: yield from g(n - 1)\n    yield n\nlist(g(n))",
    "iterators in iterators": "i = iter([1])\nfor _ in range(n): i = map(int, i)\nlist(i)",
    "coroutines in coroutines": """
async def f(n): return n and 1 + await f(n - 1)
try: f(n).send(None)
except StopIteration: pass""",
    "release of lists": "x = nested(n)\nx = None",
    "release of dicts": "x = nested(n, lambda x: {1: x})\nx = None",
    "release of tuples and sets": "x = nested(n, lambda x: (frozenset([1]), (x, {2})))\nx = None",
    "release of instances": "x = nested(n, Node)\nx = None",
    "release of iterators": "x = nested(n, lambda x: iter([x]))\nx = None",
    "release of exceptions": """
e = None
for _ in range(n):
    new = ValueError()
    new.__cause__ = e
    e = new
new = e = None""",
    "release of closures": "f = None\nfor _ in range(n): f = (lambda f: lambda: f)(f)\nf = None",
    "release of generators": "def g(x): yield x\nx = None\nfor _ in range(n):\n    x = g(x)\n    next(x)\nx = None",
    "release of deques": "from collections import deque\nx = nested(n, lambda x: deque([x]))\nx = None",
    "release of partials": "from functools import partial\nx = len\nfor _ in range(n): x = partial(map, x)\nx = None",
    "release of chains": "from itertools import chain\nx = iter(())\nfor _ in range(n): x = chain(x, ())\nx = None",
    "release of bound methods": "x = nested(n).append\nfor _ in range(n): x = [x].append\nx = None",
    "release with __del__": """
class A:
    def __init__(self, x): self.x = x
    def __del__(self): pass
x = None
for _ in range(n): x = A(x)
x = None""",
    "garbage collection": """
import gc
x = top = []
for _ in range(n):
    x.append([])
    x = x[0]
x.append(top)
x = top = None
gc.collect()""",
    "repr of lists": "repr(nested(n))",
    "repr of dicts": "repr(nested(n, lambda x: {1: x}))",
    "repr of tuples": "repr(nested(n, lambda x: (x,)))",
    "== of lists": "nested(n) == nested(n)",
    "== of dicts": "nested(n, lambda x: {1: x}) == nested(n, lambda x: {1: x})",
    "< of tuples": "nested(n, lambda x: (x,)) < nested(n, lambda x: (x,))",
    "hash of tuples": "hash(nested(n, lambda x: (x,)))",
    "isinstance of tuples": "isinstance(1, nested(n, lambda x: (x if x != 1 else str,)))",
    "issubclass of tuples": "issubclass(int, nested(n, lambda x: (x if x != 1 else str,)))",
    "union types": "x = int | str\nfor _ in range(n): x = list[x]\nrepr(x)",
    "exception groups": "e = ValueError()\nfor _ in range(n): e = ExceptionGroup('', [e])\ne.split(TypeError)",
    "traceback of causes": """
import traceback
e = None
for _ in range(n):
    new = ValueError()
    new.__cause__ = e
    e = new
traceback.format_exception(e)""",
    "pickle.dumps": "import pickle\npickle.dumps(nested(n))",
    "pickle.loads": "import pickle\npickle.loads(b']' * n + b'a' * (n - 1) + b'.')",
    "pickle of instances": "import pickle, types\nx = nested(n, lambda x: types.SimpleNamespace(x=x))\npickle.dumps(x)",
    "marshal.dumps": "import marshal\nmarshal.dumps(nested(n))",
    "marshal.loads": "import marshal\nmarshal.loads(b'[\\1\\0\\0\\0' * n + b'N')",
    "copy.deepcopy": "import copy\ncopy.deepcopy(nested(n))",
    "json.loads": "import json\njson.loads('[' * n + ']' * n)",
    "json.loads of objects": "import json\njson.loads('{\"a\":' * n + '1' + '}' * n)",
    "json.dumps": "import json\njson.dumps(nested(n))",
    "json.dumps of dicts": "import json\njson.dumps(nested(n, lambda x: {'a': x}))",
    "re, nested groups": "import re\nre.compile('(' * n + 'a' + ')' * n)",
    "re, repeated group": "import re\nre.fullmatch('(?:a|b)*', 'ab' * n)",
    "re, nested repeats": "import re\nre.fullmatch('(?:(?:a|b)*c?)*', 'abc' * n)",
    "elementtree": "import xml.etree.ElementTree as e\ne.tostring(e.fromstring('<a>' * n + '</a>' * n))",
    "elementtree, deepcopy": "import copy, xml.etree.ElementTree as e\ncopy.deepcopy(e.fromstring('<a>' * n + '</a>' * n))",
    "compile: if and elif": "compile('if x: y\\n' + 'elif x: y\\n' * n, '', 'exec')",
    "compile: sum": "compile('+'.join(['x'] * n), '', 'exec')",
    "compile: constant sum": "compile('+'.join(['1'] * n), '', 'exec')",
    "compile: brackets": "compile('(' * n + ')' * n, '', 'exec')",
    "compile: lists": "compile('[' * n + ']' * n, '', 'exec')",
    "compile: calls": "compile('f(' * n + ')' * n, '', 'exec')",
    "compile: attributes": "compile('x' + '.x' * n, '', 'exec')",
    "compile: not": "compile('not ' * n + 'x', '', 'exec')",
    "compile: minus": "compile('-' * n + 'x', '', 'exec')",
    "compile: powers": "compile('x' + '**x' * n, '', 'exec')",
    "compile: lambdas": "compile('lambda: ' * n + 'x', '', 'exec')",
    "compile: conditions": "compile('x if x else ' * n + 'x', '', 'exec')",
    "compile: f-strings": "x = 'x'\nfor _ in range(min(n, 1000)): x = f'f{{x}}'.replace('x', repr(x))[:10000]\ncompile(x, '', 'exec')",
    "compile: many statements": "compile('x = 1\\n' * n, '', 'exec')",
    "compile: blocks": "compile(''.join(' ' * i + 'if x:\\n' for i in range(min(n, 99))) + ' ' * 99 + 'x\\n', '', 'exec')",
    "ast.parse: sum": "import ast\nast.parse('+'.join(['x'] * n))",
    "ast: compile of a tree": """
import ast
x = ast.Name('x', ast.Load())
for _ in range(n): x = ast.UnaryOp(ast.Not(), x)
compile(ast.fix_missing_locations(ast.Expression(x)) if n < 900 else ast.Expression(x), '', 'eval')""",
    "ast.literal_eval": "import ast\nast.literal_eval('[' * n + ']' * n)",
    "ast.unparse": "import ast\nast.unparse(ast.parse('-' * n + 'x'))",
    "an error in an error": """
def f(n):
    try: 1 / 0
    except ZeroDivisionError: n and f(n - 1)
f(n)""",
    "str % nested": "class A:\n    def __str__(self):\n        nonlocal n\n        n -= 1\n        return n > 0 and '%s' % self or ''\nstr(A())",
    "format": "class A:\n    def __format__(self, spec):\n        nonlocal n\n        n -= 1\n        return n > 0 and f'{self}' or ''\nf'{A()}'",
    "int of __index__": "class A:\n    def __index__(self):\n        nonlocal n\n        n -= 1\n        return n > 0 and int(self) or 1\nint(A())",
    "bytes of __bytes__": "class A:\n    def __bytes__(self):\n        nonlocal n\n        n -= 1\n        return n > 0 and bytes(self) or b''\nbytes(A())",
    "weak reference callbacks": """
import weakref
class A: pass
kept = []
x = None
for _ in range(n):
    a = A()
    kept.append(weakref.ref(a, lambda _, x=x: None))
    x = a
x = a = None
kept.clear()""",
    "import in import": """
import sys, types
class Finder:
    def find_spec(self, name, path=None, target=None):
        if not name.startswith('deep_'): return None
        from importlib.machinery import ModuleSpec
        return ModuleSpec(name, self)
    def create_module(self, spec): return None
    def exec_module(self, module):
        number = int(module.__name__[5:])
        if number: __import__(f'deep_{number - 1}')
finder = Finder()
sys.meta_path.append(finder)
try: __import__(f'deep_{n}')
finally:
    sys.meta_path.remove(finder)
    for name in [name for name in sys.modules if name.startswith('deep_')]: del sys.modules[name]""",
}

_CASE = """
def case(n):
{body}
case({depth})
"""


def source(kind: str, depth: int) -> str:
    """A program that does one kind of recursion at a depth."""
    body = "\n".join("    " + line for line in KINDS[kind].strip().splitlines())
    return _NESTED + _CASE.format(body=body, depth=depth)


def in_sandbox(kind: str) -> Iterator[str]:
    """How each depth ends in a session: "" when it works."""
    with planaria.Session() as session:
        for depth in DEPTHS:
            error = session.run(source(kind, depth), timeout=TIMEOUT).error
            yield "" if error is None else getattr(error, "type", type(error).__name__)


def in_process(kind: str, python: str) -> Iterator[str]:
    """How each depth ends in a process of another CPython: "" when it works."""
    for depth in DEPTHS:
        try:
            done = subprocess.run(
                [python, "-c", "import sys; exec(sys.stdin.read(), {'__name__': '__main__'})"],
                input=source(kind, depth),
                capture_output=True,
                text=True,
                check=False,
                timeout=TIMEOUT,
            )
        except subprocess.TimeoutExpired:
            yield "TimeoutError"
            continue
        last = (done.stderr.strip().splitlines() or [""])[-1]
        yield "crash" if done.returncode < 0 else last.partition(":")[0] if done.returncode else ""


def summary(ends: Iterator[str]) -> tuple[int, str]:
    """The greatest depth that works, 0 for none, and how the next one ends."""
    reached = 0
    for depth, end in zip(DEPTHS, ends, strict=False):
        if end:
            return reached, end
        reached = depth
    return reached, ""


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="the CPython to compare with")
    parser.add_argument("--kinds", default="", help="only kinds with this in their name")
    parser.add_argument("--after", default="", help="only kinds after this one")
    arguments = parser.parse_args()
    version = subprocess.check_output(
        [arguments.python, "-c", "import sys; print(sys.version.split()[0])"], text=True
    )
    print(f"| Recursion | sandbox | next | CPython {version.strip()} | next |\n|---|---:|---|---:|---|")
    crashed = False
    kinds = list(KINDS)
    if arguments.after:
        kinds = kinds[kinds.index(arguments.after) + 1 :]
    for kind in kinds:
        if arguments.kinds not in kind:
            continue
        here, end = summary(in_sandbox(kind))
        there, other = summary(in_process(kind, arguments.python))
        crashed |= end in ("CrashError", "SessionError")
        print(f"| {kind} | {here:,} | {end} | {there:,} | {other} |", flush=True)
    return crashed


if __name__ == "__main__":
    raise SystemExit(main())
