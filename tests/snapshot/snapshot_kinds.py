"""Everything that a session can hold: how it is made, and a question that shows whether it is whole."""

from __future__ import annotations

#: By name: code that makes it, and code whose value depends on all of it.
KINDS: dict[str, tuple[str, str]] = {
    "working directory": ("import os\nos.makedirs('work', exist_ok=True); os.chdir('work')", "os.getcwd()"),
    "function": (
        "def add(a, b=[1], *c, d=2, **e):\n    'doc'\n    b.append(a)\n    return sum(b) + d\nadd.note = 'n'; add(5)",
        "(add(1), add.note, add.__doc__, add.__defaults__)",
    ),
    "closure": (
        "def counter():\n    n = 0\n    def up():\n        nonlocal n\n        n += 1\n        return n\n    return up\n"
        "up = counter(); up(); up()",
        "(up(), up())",
    ),
    "lambda": ("double = lambda x: x * 2", "double(21)"),
    "class": (
        "import dataclasses, enum, abc\n"
        "class Base(abc.ABC):\n    @property\n    def p(self): return self.v\n"
        "class Child(Base):\n    __slots__ = ('v',)\n    def __init__(self, v): self.v = v\n"
        "@dataclasses.dataclass(frozen=True)\nclass Point:\n    x: int\n    y: int = 2\n"
        "class Color(enum.Enum):\n    RED = 1\n"
        "child, point, red = Child(7), Point(1), Color.RED",
        "(child.p, isinstance(child, Base), repr(point), red is Color.RED, Child.__mro__[1].__name__)",
    ),
    "generator": (
        "def squares():\n    total = 0\n    while True:\n        sent = yield total\n        total += sent or 1\n"
        "squares_now = squares(); next(squares_now); squares_now.send(10)",
        "(next(squares_now), squares_now.send(5))",
    ),
    "iterators": (
        "import itertools\nbits = itertools.cycle('ab'); next(bits)\npairs = zip(range(5), iter('vwxyz')); next(pairs)\n"
        "counted = enumerate('abc'); next(counted); left, right = itertools.tee(range(4)); next(left)",
        "(next(bits), next(pairs), next(counted), list(left), list(right))",
    ),
    "cycle": (
        "ring = [1]; ring.append(ring); table = {'me': None}; table['me'] = table",
        "(ring[1][1] is ring, table['me'] is table)",
    ),
    "none": (
        "nothing = None; empty = ((), [], {}, set(), '', b'')",
        "(nothing, empty, 'nothing' in globals())",
    ),
    "module": (
        "import types, sys\nsettings = types.ModuleType('settings'); settings.level = 3\nsys.modules['settings'] = settings",
        "__import__('settings').level",
    ),
    "exception": (
        "def fail(): raise ValueError('x')\ntry: fail()\nexcept ValueError as error: kept = error",
        "(repr(kept), kept.__traceback__.tb_next.tb_frame.f_code.co_name)",
    ),
    "weak reference": (
        "import weakref\nclass Thing: pass\nthing = Thing(); weak = weakref.ref(thing); gone = weakref.ref(Thing())",
        "(weak() is thing, gone())",
    ),
    "reading file": (
        "with open('lines.txt', 'w') as f: f.writelines(f'line {i}\\n' for i in range(2000))\n"
        "reading = open('lines.txt'); [reading.readline() for _ in range(700)]",
        "(reading.readline(), sum(1 for _ in reading))",
    ),
    "writing file": (
        "writing = open('out.bin', 'wb'); _n = writing.write(b'first ')",
        "(writing.write(b'second'), writing.tell(), writing.close(), open('out.bin', 'rb').read())",
    ),
    "unlinked file": (
        "import os\nhidden = open('hidden.txt', 'w+'); hidden.write('secret'); hidden.flush(); hidden.seek(2); os.unlink('hidden.txt')",
        "(hidden.read(), os.path.exists('hidden.txt'))",
    ),
    "stream": ("import io\nstream = io.StringIO('hello world'); stream.read(6)", "stream.read()"),
    "files": (
        "import os\nos.makedirs('deep/er', exist_ok=True); os.symlink('deep/er', 'link')\n"
        "with open('link/data', 'wb') as f: f.seek(300_000); f.write(b'end')\nos.chmod('deep/er/data', 0o640)",
        "(os.readlink('link'), os.stat('link/data').st_size, oct(os.stat('link/data').st_mode), open('link/data', 'rb').read()[-4:])",
    ),
    "sqlite in memory": (
        "import sqlite3\nmemory = sqlite3.connect(':memory:'); memory.execute('create table t (a)')\n"
        "memory.executemany('insert into t values (?)', [(i,) for i in range(500)])\n"
        "cursor = memory.execute('select a from t order by a'); cursor.fetchmany(10)",
        "(cursor.fetchone(), memory.execute('select sum(a) from t').fetchone(), memory.in_transaction)",
    ),
    "sqlite on file": (
        "import sqlite3\ndisk = sqlite3.connect('disk.db'); disk.execute('create table t (a)'); disk.commit()\n"
        "disk.execute('insert into t values (1)')",
        "(disk.in_transaction, disk.execute('select * from t').fetchall(), disk.commit(),"
        " sqlite3.connect('disk.db').execute('select count(*) from t').fetchone())",
    ),
    "task": (
        "import asyncio\nevent = asyncio.Event()\nasync def wait_for_it():\n    await event.wait()\n    return 'set'\n"
        "task = asyncio.ensure_future(wait_for_it())\nawait asyncio.sleep(0)",
        "event.set()\n(await task, task.done())",
    ),
    "timer": (
        "import asyncio\nlate = asyncio.ensure_future(asyncio.sleep(0.05, 'late'))\nawait asyncio.sleep(0)",
        "await late",
    ),
    "queue and async generator": (
        "import asyncio\nqueue = asyncio.Queue(); queue.put_nowait(1); queue.put_nowait(2); queue.get_nowait()\n"
        "async def ticks():\n    for i in range(9): yield i\nticking = ticks(); await anext(ticking)",
        "(await queue.get(), await anext(ticking))",
    ),
    "random": (
        "import random\nrandom.seed(7); random.random()\nown = random.Random(8); own.random()",
        "(random.random(), own.random())",
    ),
    "environment": (
        "import os\nos.environ['GREETING'] = 'hello'; os.environ.pop('LANG', None)",
        "(os.environ['GREETING'], 'LANG' in os.environ)",
    ),
    "path": (
        "import sys, os\nos.makedirs('mods', exist_ok=True); open('mods/mine.py', 'w').write('value = 5'); sys.path.insert(0, 'mods')\nimport mine\nmine.value = 6",
        "(sys.path[0], mine.value, __import__('importlib').reload(mine).value)",
    ),
    "warnings": (
        "import warnings\nwarnings.simplefilter('error', DeprecationWarning)",
        "warnings.filters[0][:3]",
    ),
    "context": (
        "import contextvars, decimal, locale\nvariable = contextvars.ContextVar('v'); variable.set(9)\ndecimal.getcontext().prec = 5",
        "(variable.get(), str(decimal.Decimal(1) / 3))",
    ),
    "standard library": (
        "import collections, re, functools, datetime, fractions, logging, array, heapq\n"
        "last = collections.deque(range(5), maxlen=3); pattern = re.compile('(a+)b'); counts = collections.Counter('abca')\n"
        "@functools.lru_cache\ndef cached(n): return object()\nfirst = cached(1)\n"
        "logging.getLogger('x').setLevel(17); numbers = array.array('d', [1.5, 2.5])",
        "(list(last), last.maxlen, pattern.match('aab').group(1), counts.most_common(1), cached(1) is first,"
        " cached.cache_info().hits, logging.getLogger('x').level, numbers.tolist())",
    ),
    "large": (
        "large = list(range(100_000)); text = 'ä' * 50_000; blob = bytes(range(256)) * 4000",
        "(sum(large), len(text), hash(blob) == hash(bytes(range(256)) * 4000))",
    ),
}

#: Those that need the full tier.
FULL: dict[str, tuple[str, str]] = {
    "numpy": (
        "import numpy as np\narray = np.arange(10_000, dtype='f4').reshape(100, 100).T; view = array[::2, ::-3]\n"
        "np.random.seed(3); np.random.rand(); generator = np.random.default_rng(5); generator.random()",
        "(view.sum().item(), view.base is not None, np.random.rand(), generator.random(), array.flags.f_contiguous)",
    ),
    "pandas": (
        "import pandas as pd\nframe = pd.DataFrame({'k': list('abab'), 'v': [1, 2, 3, 4]},"
        " index=pd.date_range('2024-01-01', periods=4))\ngrouped = frame.groupby('k')",
        "(grouped.v.sum().to_dict(), str(frame.index[-1]), frame.dtypes.astype(str).tolist())",
    ),
}
