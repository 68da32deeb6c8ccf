"""Build the site of the documentation into site/, with an `llms.txt`; what the builder warns of is an error.

The pages are collected in .docs/: those of docs/, the documents of the repository's root, and a page that has
every public name with its docstring.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = ROOT / ".docs"
SITE = ROOT / "site"
#: Documents that stand elsewhere in the repository, and the pages that they become.
COLLECTED = {
    "README.md": "index.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "benchmarks/RESULTS.md": "benchmarks.md",
    **{f"docs/{path.relative_to(ROOT / 'docs')}": str(path.relative_to(ROOT / "docs"))
       for path in sorted((ROOT / "docs").rglob("*.md"))},
}  # fmt: skip
_LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")
_OPENING = re.compile(r"^```(\w+) [^\n]*$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def collect() -> None:
    """Copy the documents to their pages, with links to one another that fit; others become plain text."""
    shutil.rmtree(PAGES, ignore_errors=True)
    for source, page in COLLECTED.items():
        target = PAGES / page
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_with_links(ROOT / source, page), "utf-8")
    for image in (ROOT / "docs").rglob("*.svg"):
        target = PAGES / image.relative_to(ROOT / "docs")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(image, target)
    (PAGES / "api.md").write_text("\n".join(api()), "utf-8")


def _with_links(source: Path, page: str) -> str:
    """The text of a document in which each link leads to a page."""

    def relink(match: re.Match[str]) -> str:
        link, anchor = match[1], match[2] or ""
        if "://" in link:
            return match[0]
        linked = (source.parent / link).resolve().relative_to(ROOT)
        if linked.suffix == ".svg":  # copied to the same place beside the page
            return match[0]
        if (to := COLLECTED.get(str(linked))) is None:
            return f"] (`{linked}`)"
        up = "../" * page.count("/")
        return f"]({up}{to}{anchor})"

    # What follows the language is for the tests, and would not be understood.
    text = _OPENING.sub(r"```\1", source.read_text("utf-8"))
    parts: list[str] = []
    end = 0
    for fence in _FENCE.finditer(text):
        parts += [_LINK.sub(relink, text[end : fence.start()]), fence[0]]
        end = fence.end()
    parts.append(_LINK.sub(relink, text[end:]))
    # A link that leads to no page: its words, and where it leads in the repository.
    return re.sub(r"\[([^\[\]]*)\] \((`[^`]*`)\)", r"\1 (\2)", "".join(parts))


def api() -> Iterator[str]:
    """Every public name, under the headings of the reference."""
    yield "# API\n"
    yield "The docstrings of all public names, in the order of [the reference](reference.md).\n"
    for line in (ROOT / "docs" / "reference.md").read_text("utf-8").splitlines():
        if row := re.match(r"\| (`.*?) \|", line):
            for name in re.findall(r"`(\w+)`", row[1]):
                yield f"::: planaria.{name}\n"


def pages(entries: list[dict[str, Any]]) -> Iterator[tuple[str, str | None]]:
    """Titles and files of the navigation; a section has no file."""
    for entry in entries:
        for title, content in entry.items():
            if isinstance(content, str):
                yield title, content
            else:
                yield title, None
                yield from pages(content)


def write_llms_text(configuration: dict[str, Any]) -> None:
    """The list of pages for language models (https://llmstxt.org), and the pages as Markdown."""
    lines = [f"# {configuration['site_name']}", "", f"> {configuration['site_description']}", ""]
    for title, page in pages(configuration["nav"]):
        if page is None:
            lines += ["", f"## {title}", ""]
            continue
        lines.append(f"- [{title}]({page})")
        if page != "api.md":  # which is only directives
            (SITE / page).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(PAGES / page, SITE / page)
    lines = [line.replace("(api.md)", "(api.html)") for line in lines]
    (SITE / "llms.txt").write_text("\n".join(lines) + "\n", "utf-8")


def main() -> int:
    configuration = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]
    shown = {page for _, page in pages(configuration["nav"])}
    missing = {page for page in COLLECTED.values() if page not in shown}
    if missing:
        print(f"zensical.toml: not in the navigation: {', '.join(sorted(missing))}", file=sys.stderr)
        return 1
    collect()
    shutil.rmtree(SITE, ignore_errors=True)
    command = [Path(sys.executable).with_name("zensical"), "build", "--strict", "--clean"]
    done = subprocess.run(command, cwd=ROOT, check=False)
    if done.returncode == 0:
        write_llms_text(configuration)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
