"""Write the README's table of figures from `results.json`; `--check` fails if the table is not up to date."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import cast

from measure import Unit, shown
from results import Measurement, load

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- figures: begin -->\n", "<!-- figures: end -->\n"
PEER = "pyeryx"

#: The README's words for a row, the program, and the rows whose figures are shown.
TABLE = [
    ('`session.execute("x = 1")`', "session.py", ['`session.execute("x = 1")`']),
    ("one awaited callback, round trip", "session.py", ["one awaited host callback, round trip"]),
    ("a new session and its first execution", "session.py", ["a new session and its first execution"]),
    ("memory of a live session", "session.py", ["memory of each of 200 live used sessions"]),
    ("snapshot with a list of 100,000 ints", "snapshots.py", ["snapshot with a list of 100,000 ints"]),
    ("the same with its bytes", "snapshots.py", ["the same with its bytes"]),
    ("restoring it", "snapshots.py", ["restore of it"]),
    ("undo", "snapshots.py", ["undo"]),
    (
        "resuming in a new process, up to the first result",
        "snapshots.py",
        ["resume in a new process, up to the first result"],
    ),
    (
        "fork with an array of 200 MB: the first, then others",
        "snapshots.py",
        ["fork with an array of 200 MB, the first time", "the same again, the array unchanged"],
    ),
]


def _cell(rows: list[Measurement], engine: str) -> str:
    values = [(row["ours"] if engine == "ours" else row["peer"], cast(Unit, row["unit"])) for row in rows]
    return ", ".join(shown(value, unit) for value, unit in values if value is not None)


def table() -> str:
    """The table, in Markdown."""
    results = load()
    lines = [f"| | planaria | {PEER} |", "|---|---|---|"]
    for label, program, names in TABLE:
        rows = [results[program]["rows"][name] for name in names]
        lines.append(f"| {label} | {_cell(rows, 'ours')} | {_cell(rows, 'peer')} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    text = README.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    wanted = f"{before}{BEGIN}\n{table()}\n{END}{after}"
    if "--check" not in sys.argv[1:]:
        README.write_text(wanted, "utf-8")
    elif text != wanted:
        sys.exit("README.md does not show the figures of benchmarks/results.json: run `make figures`")


if __name__ == "__main__":
    main()
