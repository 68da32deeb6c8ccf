"""Coverage-guided fuzzing of the snapshot format with atheris, an optional dependency (`make fuzz`).

Each input takes the place of one section of a good snapshot, or of all of it, under a checksum that is
right: whatever it holds, reading it gives a snapshot or raises SnapshotError. Arguments of libFuzzer can
follow, such as -max_total_time=60 (seconds).
"""

from __future__ import annotations

import contextlib
import sys

import atheris

import planaria

with atheris.instrument_imports(include=["planaria.snapshot", "planaria_kernel.protocol"]):
    from planaria.snapshot.envelope import Section, pack
    from planaria.snapshot.snapshot import Snapshot

_session = planaria.Session(callbacks=[{"name": "ask", "fn": lambda a, *b: 1}])
_session.execute("import os\nos.makedirs('a/b')\nf = open('a/f', 'w+')")
_good = _session.snapshot_state()
_KINDS = ("state", "files", "pages", "chunks")


def read(data: bytes) -> None:
    """Read one forged snapshot."""
    kind, contents = data[:1], data[1:]
    with contextlib.suppress(planaria.SnapshotError):
        if not contents or kind[0] % 5 == 4:
            snapshot = Snapshot(data)
        else:
            name = _KINDS[kind[0] % 5]
            others = [one for one in _good.container.sections if one.kind != name]
            snapshot = Snapshot(pack(_good.header.to_json(), [*others, Section.of(name, contents)]))
        _ = snapshot.header, snapshot.record, snapshot.manifest, snapshot.layers


atheris.Setup(sys.argv, read)
atheris.Fuzz()
