"""The last thing done before the memory of this interpreter becomes an image.

Sessions share an image's pages until they write to them. Looking at an object already writes to it, since
that changes its reference count; objects whose count stands at the value that means "immortal" (PEP 683) are
left alone. So every object that an image holds is made immortal: the host writes the counts, this module
finds the objects.
"""

from __future__ import annotations

import gc
import linecache
import sys
from array import array
from collections.abc import Callable
from types import CodeType, FunctionType

from planaria_kernel.execution import cell
from planaria_kernel.sandbox.warmup import WARMING

__all__ = ["settle"]

#: Of `type.__flags__`: created at run time (Py_TPFLAGS_HEAPTYPE). The names of other types are strings of C,
#: from which each access makes new objects; made immortal, they would stay behind all that is found here.
_HEAP_TYPE = 1 << 9
#: An object whose reference count is at least this is immortal (CPython's refcount.h, for 32 bits).
_IMMORTAL = 1 << 30

#: What fills the holes in the image's heap.
_plugs: list[list[object]] = []
#: How large holes are looked for, in bytes: the allocator hands out multiples of 16. All of these together
#: (8 MB) are left free behind everything, so that small sessions need not grow their memory: as long as its
#: size is the same, going back to an earlier state is cheap.
_SIZES = (*(1 << power for power in range(22, 10, -1)), *range(1008, 16, -16))
#: By how many bytes the marks grow, each of which is for 64 bytes of memory.
_MORE_MARKS = 1 << 17
#: Larger holes stay: what is allocated in one of them lies together as well.
_LARGEST_PLUG = 1 << 20
#: So many plugs are kept in one list: one that grew would move, and leave holes.
_CHUNK = 1 << 14
#: Places of the table of functions by their versions (FUNC_VERSION_CACHE_SIZE), and how many are taken at
#: once.
_VERSIONS = 4096
_AT_ONCE = 63


def _plug(last: int) -> None:
    """Fill the holes before the address `last`: what a session allocates then lies close together.

    The allocator (dlmalloc, in wasi-libc) takes the smallest hole that fits, and memory behind everything
    when there is none.
    """
    header = sys.getsizeof(b"")
    behind: list[object] = [None] * (len(_SIZES) + 1)  # freed at the end, all together
    plugs = _Chunks(_plugs)
    holding = _Chunks([])  # the large holes, meanwhile
    for number, size in enumerate(_SIZES):
        length = size - header - 4  # the allocator keeps 4 bytes for itself
        put = plugs.put if size <= _LARGEST_PLUG else holding.put
        while id(plug := bytes(length)) < last:
            put(plug)
        behind[number] = plug
    while id(smallest := object()) < last:
        plugs.put(smallest)
    behind[-1] = smallest


class _Chunks:
    """Objects in lists that never grow."""

    __slots__ = ("_chunks", "_count")

    def __init__(self, chunks: list[list[object]]) -> None:
        self._chunks = chunks
        self._count = _CHUNK

    def put(self, item: object) -> None:
        if self._count == _CHUNK:
            self._chunks.append([None] * _CHUNK)
            self._count = 0
        self._chunks[-1][self._count] = item
        self._count += 1


def settle(call_host: Callable[[bytes], bytes], forget: Callable[[], None]) -> None:
    """Forget what warming up left, keep the collector off what is here, and report all objects to the host.
    `forget` does the first for the kernel.

    The first address reported is that of None, which is immortal from the beginning.
    """
    linecache.cache.pop(WARMING, None)
    cell.forget()
    forget()
    _forget_versions()
    gc.unfreeze()  # what an earlier image holds may refer to new objects
    gc.collect()
    alive = _alive()  # held until the host has written: an address must not be used again before
    addresses = array("I", map(id, alive))
    last = max(addresses, default=0)
    addresses.insert(0, id(None))
    call_host(b"Z" + addresses.tobytes())
    del alive, addresses
    gc.collect()  # frees what Python keeps to be used again, which lies everywhere
    _plug(last)
    gc.freeze()  # or a session's first collection would write to every page


def _forget_versions() -> None:
    """Empty CPython's table of functions by the versions of their code (funcobject.c).

    Code that is freed has the function in the next place of that table looked at, whatever it is: each new
    cell would read another page of the image, until it had been through all of it. The table is for
    optimisations that this build has not.
    """
    source = compile("\n".join(["lambda: 0"] * _AT_ONCE), WARMING, "exec")
    for _ in range(2 * _VERSIONS // _AT_ONCE):  # twice, as the code around them takes places too
        # Each copy has the next version, and each function is in the table as long as it exists.
        bodies = [one.replace() if type(one) is CodeType else one for one in source.co_consts]
        exec(source.replace(co_consts=tuple(bodies)), {})


def _alive() -> list[object]:
    """Every mortal object that can be reached from those the collector knows, and from modules' variables.

    What an earlier image made immortal is not walked again: the collector no longer tracks it, but knows each
    newer object that can refer to others. Strings and numbers that only such an old object refers to are
    found where it is the namespace of a module; elsewhere they stay mortal, which is correct but writes to
    the image's pages when they are used.

    Which ones have been found is marked by a bit for each 8 bytes of memory, the size of the smallest object:
    a set would be the largest thing in the memory, and its room would stay with the image.
    """
    found: list[object] = []
    waiting: list[object] = gc.get_objects()
    waiting += gc.get_referents(sys.modules, *map(vars, sys.modules.values()))
    own = {id(found), id(waiting), *map(id, _plugs)}
    marks = bytearray()
    count = sys.getrefcount
    while waiting:
        item = waiting.pop()
        if count(item) >= _IMMORTAL:
            continue
        address = id(item)
        place, mark = address >> 6, 1 << (address >> 3 & 7)
        if place >= len(marks):
            marks += bytes(place + _MORE_MARKS - len(marks))
        if marks[place] & mark or address in own:
            continue
        marks[place] |= mark
        found.append(item)
        waiting.extend(gc.get_referents(item))
        waiting.append(type(item))
        # Code objects do not take part in garbage collection, so they do not report what they hold.
        if isinstance(item, CodeType):
            waiting += (
                item.co_consts,
                item.co_names,
                item.co_filename,
                item.co_name,
                item.co_qualname,
                item.co_linetable,
                item.co_exceptiontable,
            )
        elif isinstance(item, FunctionType):
            waiting.append(item.__code__)
        elif isinstance(item, type):
            # Types written in C do not report theirs either.
            waiting += vars(item)
            waiting += vars(item).values()
            waiting += (item.__mro__, item.__bases__)
            if item.__flags__ & _HEAP_TYPE:
                waiting += (item.__name__, item.__qualname__)
    return found
