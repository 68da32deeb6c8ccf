"""The shortest edit between two sequences: E. W. Myers, "An O(ND) Difference Algorithm" (1986)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence


def changes(old: Sequence[Hashable], new: Sequence[Hashable]) -> tuple[list[bool], list[bool]]:
    """Which items of `old` go and which of `new` come, by a shortest edit.

    Linear space (the middle snake is found from both ends); what is unique to one side is set aside
    first, as it can match nothing.
    """
    codes: dict[Hashable, int] = {}
    one = [codes.setdefault(item, len(codes)) for item in old]
    two = [codes.setdefault(item, len(codes)) for item in new]
    removed, added = [False] * len(one), [False] * len(two)
    start = 0
    stop_old, stop_new = len(one), len(two)
    while start < stop_old and start < stop_new and one[start] == two[start]:
        start += 1
    while stop_old > start and stop_new > start and one[stop_old - 1] == two[stop_new - 1]:
        stop_old -= 1
        stop_new -= 1
    in_old, in_new = set(one[start:stop_old]), set(two[start:stop_new])
    places_old, places_new = [], []
    for place in range(start, stop_old):
        if one[place] in in_new:
            places_old.append(place)
        else:
            removed[place] = True
    for place in range(start, stop_new):
        if two[place] in in_old:
            places_new.append(place)
        else:
            added[place] = True
    kept_old = [one[place] for place in places_old]
    kept_new = [two[place] for place in places_new]
    gone, come = _compare(kept_old, kept_new)
    for place, changed in zip(places_old, gone, strict=True):
        removed[place] = changed
    for place, changed in zip(places_new, come, strict=True):
        added[place] = changed
    return removed, added


def _compare(one: list[int], two: list[int]) -> tuple[list[bool], list[bool]]:
    gone, come = [False] * len(one), [False] * len(two)
    size = len(one) + len(two) + 3
    forward, backward = [0] * (2 * size), [0] * (2 * size)
    stack = [(0, len(one), 0, len(two))]
    while stack:
        low, high, low_new, high_new = stack.pop()
        while low < high and low_new < high_new and one[low] == two[low_new]:
            low += 1
            low_new += 1
        while low < high and low_new < high_new and one[high - 1] == two[high_new - 1]:
            high -= 1
            high_new -= 1
        if low == high:
            for place in range(low_new, high_new):
                come[place] = True
        elif low_new == high_new:
            for place in range(low, high):
                gone[place] = True
        else:
            x, y = _middle(one, two, low, high, low_new, high_new, forward, backward, size)
            stack.append((x, high, y, high_new))
            stack.append((low, x, low_new, y))
    return gone, come


def _middle(
    one: list[int],
    two: list[int],
    low: int,
    high: int,
    low_new: int,
    high_new: int,
    forward: list[int],
    backward: list[int],
    zero: int,
) -> tuple[int, int]:
    """A point on a shortest edit script, near its middle: where the searches from both ends meet.

    Diagonal d holds the points with x - y = d; `forward[d]` and `backward[d]` are the furthest x reached.
    """
    least, most = low - high_new, high - low_new
    middle_forward, middle_backward = low - low_new, high - high_new
    forward_low = forward_high = middle_forward
    backward_low = backward_high = middle_backward
    odd = (middle_forward - middle_backward) & 1
    forward[zero + middle_forward] = low
    backward[zero + middle_backward] = high
    while True:
        if forward_low > least:
            forward_low -= 1
            forward[zero + forward_low - 1] = -1
        else:
            forward_low += 1
        if forward_high < most:
            forward_high += 1
            forward[zero + forward_high + 1] = -1
        else:
            forward_high -= 1
        for diagonal in range(forward_high, forward_low - 1, -2):
            below, above = forward[zero + diagonal - 1], forward[zero + diagonal + 1]
            x = above if below < above else below + 1
            y = x - diagonal
            while x < high and y < high_new and one[x] == two[y]:
                x += 1
                y += 1
            forward[zero + diagonal] = x
            if odd and backward_low <= diagonal <= backward_high and backward[zero + diagonal] <= x:
                return x, y
        if backward_low > least:
            backward_low -= 1
            backward[zero + backward_low - 1] = 1 << 60
        else:
            backward_low += 1
        if backward_high < most:
            backward_high += 1
            backward[zero + backward_high + 1] = 1 << 60
        else:
            backward_high -= 1
        for diagonal in range(backward_high, backward_low - 1, -2):
            below, above = backward[zero + diagonal - 1], backward[zero + diagonal + 1]
            x = below if below < above else above - 1
            y = x - diagonal
            while low < x and low_new < y and one[x - 1] == two[y - 1]:
                x -= 1
                y -= 1
            backward[zero + diagonal] = x
            if not odd and forward_low <= diagonal <= forward_high and x <= forward[zero + diagonal]:
                return x, y


def slide(items: Sequence[Hashable], changed: list[bool], other: list[bool]) -> None:
    """Move each run of changed items as far down as it goes, joining runs that meet, as GNU diff does.

    A run can slide down when its first item equals the one after it. If on its way it can
    stand beside a change of the other side, it goes back up to the last such place.
    """
    place = other_place = 0
    size, other_size = len(items), len(other)
    while True:
        while place < size and not changed[place]:
            while other_place < other_size and other[other_place]:
                other_place += 1
            other_place += 1
            place += 1
        if place >= size:
            return
        start = place
        while place < size and changed[place]:
            place += 1
        while other_place < other_size and other[other_place]:
            other_place += 1
        while True:
            length = place - start
            while start > 0 and items[start - 1] == items[place - 1]:
                start -= 1
                place -= 1
                changed[start] = True
                changed[place] = False
                while start > 0 and changed[start - 1]:
                    start -= 1
                other_place = _kept_before(other, other_place)
            corresponding = place if other_place > 0 and other[other_place - 1] else size
            while place < size and items[start] == items[place]:
                changed[start] = False
                changed[place] = True
                start += 1
                place += 1
                while place < size and changed[place]:
                    place += 1
                other_place += 1
                while other_place < other_size and other[other_place]:
                    other_place += 1
                    corresponding = place
            if length == place - start:
                break
        while corresponding < place:
            start -= 1
            place -= 1
            changed[start] = True
            changed[place] = False
            other_place = _kept_before(other, other_place)


def _kept_before(changed: list[bool], place: int) -> int:
    """The last unchanged item before a place."""
    place -= 1
    while place >= 0 and changed[place]:
        place -= 1
    return place
