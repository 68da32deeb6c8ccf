"""Make the list of the fonts that matplotlib brings, which sessions find ready made.

Run it after an update of the artifact: it writes `fontlist-v<version>.json` beside `runtime/guest_files.py`,
where `library()` takes it from; the version in `files/layout.py` has to be the same.
"""

from __future__ import annotations

from pathlib import Path

import planaria
import planaria.runtime.guest_files

_SOURCE = """
import json
from matplotlib import font_manager
manager = font_manager.FontManager()
font_manager.json_dump(manager, "/tmp/fonts")
with open("/tmp/fonts") as file:
    contents = json.load(file)
with open("/tmp/fonts", "w") as file:
    json.dump(contents, file, separators=(",", ":"))
print(manager.__version__)
"""


def main() -> None:
    with planaria.Session() as session:
        version = session.execute(_SOURCE).stdout.strip()
        fonts = session.files.read_bytes("/tmp/fonts")
    place = Path(planaria.runtime.guest_files.__file__).with_name(f"fontlist-v{version}.json")
    place.write_bytes(fonts)
    print(f"{place.name}: {len(fonts)} bytes")


if __name__ == "__main__":
    main()
