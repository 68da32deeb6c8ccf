"""Names side by side, as ls fills a line: in columns, in rows, between commas."""

from __future__ import annotations

__all__ = ["columns", "commas"]


def commas(names: list[str], widths: list[int], line: int) -> list[str]:
    """Pieces of text: names between commas, on lines of at most `line` columns (0: one line)."""
    out: list[str] = []
    position = 0
    for index, (name, width) in enumerate(zip(names, widths, strict=True)):
        if index:
            if not line or position + width + 2 < line:
                out.append(", ")
                position += 2
            else:
                out.append(",\n")
                position = 0
        out.append(name)
        position += width
    return [*out, "\n"]


def columns(names: list[str], widths: list[int], line: int, downwards: bool) -> list[str]:
    """Pieces of text: names in as many columns as fit into `line`, one below the other or side by side."""
    count = len(names)
    most = min(count, -(-line // 3)) if line else count
    best, best_widths = 1, [max(widths)]
    for number in range(most, 1, -1):
        rows = -(-count // number)
        column_widths = [0] * number
        for index, width in enumerate(widths):
            column = index // rows if downwards else index % number
            needed = width + (0 if column == number - 1 else 2)
            if needed > column_widths[column]:
                column_widths[column] = needed
        # A column that stays empty still counts with the least width, as in GNU ls.
        total = sum(max(width, 3) for width in column_widths)
        if not line or total < line:
            best, best_widths = number, [max(width, 3) for width in column_widths]
            break
    rows = -(-count // best)
    out: list[str] = []
    for row in range(rows):
        indices = range(row, count, rows) if downwards else range(row * best, min((row + 1) * best, count))
        position = at = 0
        for column, index in enumerate(indices):
            if column:
                out.append(_blank(at, position))
            out.append(names[index])
            at = position + widths[index]
            position += best_widths[column]
        out.append("\n")
    return out


def _blank(start: int, end: int) -> str:
    """From one column to another with tabs where they help."""
    text = ""
    while start < end:
        if end // 8 > (start + 1) // 8:
            text += "\t"
            start += 8 - start % 8
        else:
            text += " "
            start += 1
    return text
