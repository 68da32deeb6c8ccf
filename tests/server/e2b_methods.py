"""What each method of E2B's SDKs does with a server of ours, and the table of that in docs/server.md.

Run as a program, it writes the table.
"""

from __future__ import annotations

import asyncio
import enum
import inspect
import re
from pathlib import Path
from typing import Any, Final

import e2b
import e2b_code_interpreter  # type: ignore[import-untyped,unused-ignore]
import e2b_other_probes
import e2b_sandbox_probes
from e2b import CommandExitException
from e2b_probes import METHODS, Probe, got, is_asynchronous
from session_server import served_to_e2b

__all__ = ["DOCUMENT", "in_document", "methods_of", "run_all", "run_both", "table"]

DOCUMENT: Final = Path(__file__).resolve().parents[2] / "docs" / "server.md"
_BEGIN, _END = "<!-- made by tests/server/e2b_methods.py -->\n", "<!-- end -->\n"

#: Modules that register the probes.
_PROBES: Final = (e2b_sandbox_probes, e2b_other_probes)
#: Values of a sandbox, and what only computes an address.
_VALUES: Final = frozenset(
    [
        "beta_pause",
        "connection_config",
        "default_mcp_template",
        "default_sandbox_timeout",
        "default_template",
        "envd_api_url",
        "envd_direct_url",
        "files",
        "commands",
        "git",
        "pty",
        "mcp_port",
        "sandbox_domain",
        "sandbox_id",
        "traffic_access_token",
        "get_mcp_url",
        "get_host",
    ]
)
#: Classes of values, of the SDKs' own connections, and what is a part of a sandbox.
_NOT_RESOURCES: Final = frozenset(
    [
        "ApiClient",
        "ConnectionConfig",
        "VolumeConnectionConfig",
        "EntryInfo",
        "WriteInfo",
        "Context",
        "Execution",
        "ExecutionError",
        "Logs",
        "Result",
        "ReadyCmd",
        "TemplateBase",
        "Git",
        "Sandbox",
    ]
)
#: What asks nothing of a server: it builds a description, or formats one.
_LOCAL: Final = re.compile(r"Template\.(from_\w+|skip_cache|to_dockerfile|to_json)|Secret\.(fill|iam_token)")


def methods_of(sandbox: Any) -> set[str]:
    """The methods of one of the SDKs: of a sandbox, of what it has, and of the other classes."""
    found = {name for name in dir(type(sandbox)) if not name.startswith("_")} - _VALUES
    for part in ("files", "commands", "pty", "git"):
        names = {name for name in dir(getattr(sandbox, part)) if not name.startswith("_")}
        found |= {f"{part}.{name}" for name in names}
    asynchronous = is_asynchronous(sandbox)
    for name, kind in {**vars(e2b), **vars(e2b_code_interpreter)}.items():
        is_class = inspect.isclass(kind) and kind.__module__.startswith("e2b")
        if not is_class or issubclass(kind, (BaseException, enum.Enum)) or name.startswith("_"):
            continue
        if name.startswith("Async") == asynchronous and name.removeprefix("Async") not in _NOT_RESOURCES:
            own = {one for one in dir(kind) if not one.startswith("_") and _is_method(kind, one)}
            found |= {f"{name.removeprefix('Async')}.{one}" for one in own}
    return {name for name in found if not _LOCAL.fullmatch(name)}


def _is_method(kind: type, name: str) -> bool:
    """Whether a class of the SDKs defines a method, rather than a class of the standard library."""
    value = getattr(kind, name)
    return callable(value) and (getattr(value, "__module__", None) or "").startswith("e2b")


async def run_all(asynchronous: bool) -> dict[str, str]:
    """Why each method is not there; empty for those that work. Raises what else is wrong."""
    kind = e2b_code_interpreter.AsyncSandbox if asynchronous else e2b_code_interpreter.Sandbox
    box = await got(kind.create(metadata={"of": "methods"}))
    reasons: dict[Probe, str] = {}
    for one in dict.fromkeys(METHODS.values()):
        try:
            await one(box)
            reasons[one] = ""
        except CommandExitException as failed:
            if failed.exit_code != 127:
                raise
            reasons[one] = "there is no git in the sandbox"
        except Exception as failed:
            found = re.search(r"(?:501|UNIMPLEMENTED)\W+(.+)", str(failed))
            if found is None:
                raise
            reasons[one] = found[1]
    names = methods_of(box)
    assert names <= METHODS.keys(), f"these have no probe: {sorted(names - METHODS.keys())}"
    await got(box.kill())
    return {name: reasons[one] for name, one in METHODS.items() if name in names}


def run_both() -> dict[str, str]:
    """The same of both SDKs, which must not differ in what they share."""
    with served_to_e2b():
        found, also = asyncio.run(run_all(False)), asyncio.run(run_all(True))
    differ = {name for name in found.keys() & also.keys() if found[name] != also[name]}
    assert not differ, f"the two SDKs differ: {sorted(differ)}"
    merged = found | also
    return {name: merged[name] for name in sorted(merged, key=lambda name: name.rpartition(".")[0])}


def table(found: dict[str, str]) -> str:
    """The outcome as a table for the documents."""
    groups: dict[str, list[str]] = {}
    for name, reason in found.items():
        group, _, method = name.rpartition(".")
        where = f"`{group or 'Sandbox'}`"
        groups.setdefault(reason or where, []).append(f"`{method}`" if not reason else f"`{name}`")
    works = [
        f"| {where} | {', '.join(sorted(names))} |" for where, names in groups.items() if where[0] == "`"
    ]
    missing = [
        f"| not there: {', '.join(sorted(names))} | {reason} |"
        for reason, names in groups.items()
        if reason[0] != "`"
    ]
    return "\n".join(["| | |", "|---|---|", *works, *missing]) + "\n"


def in_document(text: str) -> str:
    """The table of a document."""
    return text.partition(_BEGIN)[2].partition(_END)[0]


def main() -> None:
    text = DOCUMENT.read_text("utf-8")
    before, _, rest = text.partition(_BEGIN)
    after = rest.partition(_END)[2]
    DOCUMENT.write_text(f"{before}{_BEGIN}{table(run_both())}{_END}{after}", "utf-8")


if __name__ == "__main__":
    main()
