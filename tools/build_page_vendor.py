"""Bundle what the server's page brings along: CodeMirror, xterm.js, d3-hierarchy and micromark.

    python tools/build_page_vendor.py

It needs npm. Versions stand in tools/page_vendor/package.json, and all that they need in package-lock.json.
What comes of it is kept in the repository, so that neither users nor builds of the package need npm.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "tools/page_vendor"
TARGET = ROOT / "src/planaria/server/ui/vendor"
#: Where bundlers write what they have taken in.
METADATA = "metadata.json"


def main() -> None:
    """Install, bundle, and write down whose work it is."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(SOURCES, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules"))
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=folder, check=True)
        TARGET.mkdir(parents=True, exist_ok=True)
        bundles = sorted(one.name for one in folder.glob("*.js"))
        subprocess.run(
            [
                "node_modules/.bin/esbuild",
                *bundles,
                "--bundle",
                "--minify",
                "--format=esm",
                "--target=es2022",
                "--legal-comments=none",
                f"--metafile={METADATA}",
                f"--outdir={TARGET}",
            ],
            cwd=folder,
            check=True,
        )
        shutil.copy(folder / "node_modules/@xterm/xterm/css/xterm.css", TARGET)
        (TARGET / "LICENSES.txt").write_text(licenses(folder), "utf-8")
    for path in sorted(TARGET.iterdir()):
        print(f"{path.stat().st_size:>8} {path.relative_to(ROOT)}")


def licenses(folder: Path) -> str:
    """Names, versions and licences of all that is in the bundles."""
    inputs = json.loads((folder / METADATA).read_text("utf-8"))["inputs"]
    packages = set()
    for path in inputs:
        parts = path.split("node_modules/")[-1].split("/")
        if path.startswith("node_modules/"):
            packages.add("/".join(parts[:2] if parts[0].startswith("@") else parts[:1]))
    texts = ["The files in this folder are bundles of these packages (tools/build_page_vendor.py).\n"]
    for package in sorted(packages):
        place = folder / "node_modules" / package
        described = json.loads((place / "package.json").read_text("utf-8"))
        found = sorted(one for one in place.iterdir() if one.name.lower().startswith("licen"))
        text = found[0].read_text("utf-8").strip() if found else f"{described['license']} licence"
        texts.append(f"{'=' * 78}\n{package} {described['version']} ({described['license']})\n\n{text}\n")
    return "\n".join(texts)


if __name__ == "__main__":
    main()
