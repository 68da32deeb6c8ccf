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

from planaria.guest.kernel import cell
from planaria.guest.warming import WARMING

__all__ = ["settle"]

#: What fills the holes in the image's heap.
_plugs: list[bytes] = []
#: The allocator hands out multiples of 8 bytes up to 512 (obmalloc.c), from pools of 4 KiB.
_ALIGNMENT = 8
_LARGEST = 512
_POOL = 4096
_POOL_HEADER = 64


def _plug() -> list[bytes]:
    """Fill the pools that are partly free, so that what a session allocates lies close together in new ones.

    The pools of a size are full when a whole pool's worth of objects came one after the other.
    """
    header = sys.getsizeof(b"")
    plugs: list[bytes] = []
    for size in range(-(-header // _ALIGNMENT) * _ALIGNMENT, _LARGEST + 1, _ALIGNMENT):
        fits = (_POOL - _POOL_HEADER) // size
        while True:
            batch = [bytes(size - header) for _ in range(2 * fits)]
            plugs += batch
            # No allocation of the loop itself may come between, hence the batch.
            newest = [id(plug) for plug in batch[-fits:]]
            if newest[-1] - newest[0] == (fits - 1) * size or newest[-1] // _POOL - newest[0] // _POOL == 1:
                break
    return plugs


def settle(door: Callable[[bytes], bytes]) -> None:
    """Forget what warming up left, keep the collector off what is here, and tell the host all objects.

    The first address told is that of None, which is immortal from the beginning.
    """
    linecache.cache.pop(WARMING, None)
    cell.forget()
    gc.unfreeze()  # what an earlier image holds may refer to new objects
    gc.collect()
    alive = _alive()  # held until the host has written: an address must not be used again before
    door(b"Z" + array("I", [id(None), *sorted(alive)]).tobytes())
    del alive
    _plugs.extend(_plug())
    gc.freeze()  # or a session's first collection would write to every page


def _alive() -> dict[int, object]:
    """Every object that can be reached from those the collector knows, by its address."""
    found: dict[int, object] = {}
    waiting: list[object] = gc.get_objects()
    own = {id(found), id(waiting)}
    while waiting:
        item = waiting.pop()
        address = id(item)
        if address in found or address in own:
            continue
        found[address] = item
        waiting.extend(gc.get_referents(item))
        waiting.append(type(item))
        # Code objects do not take part in garbage collection, so they do not tell what they hold.
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
            # Types written in C do not tell theirs either.
            waiting += vars(item)
            waiting += vars(item).values()
            waiting += (item.__mro__, item.__bases__, item.__name__, item.__qualname__)
    return found
