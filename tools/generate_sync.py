"""Write `planaria.session._sync` from `planaria.session._async`, and the parameter lists of both.

    python tools/generate_sync.py           write
    python tools/generate_sync.py --check   fail when a file differs from what would be written

In the sources, between comments `# settings: begin` and `# settings: end` stand the fields of
`SessionSettings` as parameters, between `# given: begin` and `# given: end` the same as arguments, and
between `# options: begin` and `# options: end` as those of a TypedDict; `without` and names after `begin`
leave fields out. Both are filled in here, so that every constructor shows
its parameters with their types and defaults.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import sysconfig
import tokenize
from pathlib import Path

SESSION = Path(__file__).resolve().parent.parent / "src" / "planaria" / "session"
#: Has a parameter list and no twin.
OPTIONS = SESSION / "options.py"
MODULES = ("bash", "constructors", "remote", "remote_workspace", "sandbox", "session", "workspace")

NAMES = {
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "_async": "_sync",
    "connect_async": "connect",
    **{
        f"Async{name}": name
        for name in (
            "Bash",
            "Execution",
            "Sandbox",
            "ServerArtifacts",
            "ServerSession",
            "ServerTools",
            "ServerWorkflows",
            "ServerWorkspace",
            "Session",
            "SessionArtifacts",
            "SessionConstructors",
            "SessionDependencies",
            "SessionTools",
            "SessionWorkflows",
            "SessionWorkspace",
            "Turns",
            "WorkspaceMethods",
        )
    },
}

#: Text that differs between the source and what is generated.
TEXTS = {
    "session": {
        """for asyncio and Trio.

    The sandbox runs on a thread beside the event loop. Asynchronous callbacks run on the loop that awaits the
    execution, plain ones on threads; calls awaited together run together. Cancelling the task that awaits an
    execution interrupts the code and keeps the session.
""": """for any thread.

    One execution at a time, others wait for their turn. Plain callbacks run on threads (see
    `Callback.on_caller_thread`), asynchronous ones on one event loop that all sessions of the process share.
""",
    },
    "remote": {
        '__all__ = ["AsyncServerSession", "connect_async"]': '__all__ = ["ServerSession", "connect"]',
    },
    "sandbox": {
        "Several executions may be awaited together; they run in parallel.": (
            "May be used from several threads at once; the executions run in parallel."
        ),
    },
    "bash": {
        "    async def counters(self)": "    @property\n    def counters(self)",
        "kernel_queries.counters(await self.state())": "kernel_queries.counters(self.state())",
    },
}

#: Fields that only the sandbox has, and those that belong to the process where the kernel is on a thread.
SANDBOX_ONLY = {
    "network",
    "image",
    "vfs",
    "vfs_mount_path",
    "mounts",
    "quota",
    "clock",
    "deterministic",
    "record",
    "commands",
    "shell_limits",
}
SHARED = {"executor", "storage", "extra_deps", "allow_runtime_deps", "sync_deps_on_start"}
GROUPS = {
    "outside-process": SANDBOX_ONLY | SHARED,
    "outside-thread": SANDBOX_ONLY | SHARED | {"env", "seed", "argv"},
}

_REGION = re.compile(
    r"^(?P<indent> *)# (?P<kind>settings|given|options): begin(?P<options>.*)\n"
    r"(?:.*\n)*?(?P<end> *# (?P=kind): end)$",
    re.MULTILINE,
)


def settings_fields() -> dict[str, str]:
    """The fields of `SessionSettings` with their annotations and defaults, as source."""
    tree = ast.parse((SESSION / "settings.py").read_text())
    fields = {}
    for statement in next(one for one in tree.body if isinstance(one, ast.ClassDef)).body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            default = "" if statement.value is None else ast.unparse(statement.value)
            if not default.startswith("field("):
                fields[statement.target.id] = f"{ast.unparse(statement.annotation)} = {default}"
    return fields


def with_parameters(source: str, fields: dict[str, str]) -> str:
    """The source with its parameter lists filled in."""

    def fill(found: re.Match[str]) -> str:
        excluded: set[str] = set()
        for option in found["options"].replace("without", "").split():
            excluded |= GROUPS.get(option, {option})
        unknown = excluded - fields.keys()
        if unknown:
            raise SystemExit(f"no such fields of SessionSettings: {', '.join(sorted(unknown))}")
        indent, kind = found["indent"], found["kind"]
        lines = [f"{indent}# {kind}: begin{found['options']}"]
        for name, text in fields.items():
            if name not in excluded:
                lines.append(
                    {
                        "settings": f"{indent}{name}: {text},",
                        "given": f"{indent}{name}={name},",
                        "options": f"{indent}{name}: {text.partition(' = ')[0]}",
                    }[kind]
                )
        return "\n".join([*lines, found["end"]])

    return _REGION.sub(fill, source)


def without_await(source: str, texts: dict[str, str]) -> str:
    """The source without `async` and `await`, and with the names of the other twin."""
    for ours, theirs in texts.items():
        if source.count(ours) != 1:
            raise SystemExit(f"stands {source.count(ours)} times in the source: {ours!r}")
        source = source.replace(ours, theirs)
    lines = source.splitlines(keepends=True)
    edits = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME and token.string in ("async", "await"):
            edits.append((token.start, len(token.string) + 1, ""))
        elif token.type == tokenize.NAME and token.string in NAMES:
            edits.append((token.start, len(token.string), NAMES[token.string]))
        elif token.type == tokenize.STRING and "Async" in token.string:
            start_row, start_column = token.start
            for row in range(start_row, token.end[0] + 1):
                first = start_column if row == start_row else 0
                last = token.end[1] if row == token.end[0] else len(lines[row - 1])
                for found in re.finditer(r"\bAsync\w+", lines[row - 1][first:last]):
                    if found[0] in NAMES:
                        edits.append(((row, first + found.start()), len(found[0]), NAMES[found[0]]))
    for (row, column), length, text in sorted(edits, reverse=True):
        line = lines[row - 1]
        lines[row - 1] = line[:column] + text + line[column + length :]
    return "".join(lines)


def formatted(source: str, path: Path) -> str:
    """As ruff formats it."""
    program = Path(sysconfig.get_path("scripts")) / "ruff"
    for command in (["check", "--quiet", "--select", "I,SIM117", "--fix", "-"], ["format", "--quiet", "-"]):
        done = subprocess.run(
            [program, *command, "--stdin-filename", path], input=source, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(done.stderr or done.stdout)
        source = done.stdout
    return source


def main() -> None:
    fields = settings_fields()
    written = {OPTIONS: formatted(with_parameters(OPTIONS.read_text(), fields), OPTIONS)}
    for module in MODULES:
        path = SESSION / "_async" / f"{module}.py"
        written[path] = source = formatted(with_parameters(path.read_text(), fields), path)
        twin = SESSION / "_sync" / f"{module}.py"
        header = f"# Generated from ../_async/{module}.py by tools/generate_sync.py; change that one.\n"
        written[twin] = formatted(header + without_await(source, TEXTS.get(module, {})), twin)
    stale = [path for path, source in written.items() if not path.exists() or path.read_text() != source]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path} is not what tools/generate_sync.py writes: run it", file=sys.stderr)
        raise SystemExit(bool(stale))
    for path in stale:
        path.write_text(written[path])


if __name__ == "__main__":
    main()
