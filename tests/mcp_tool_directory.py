"""A directory of tools with an MCP server, and whether a process of it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["PROCESS", "define_server", "is_there"]

PROCESS: Final = "tools.demo.process()"
"""Code whose value is the number of the server's process."""

_SERVER: Final = Path(__file__).parent / "workspace" / "tools" / "demo_mcp_server.py"


def define_server(directory: Path) -> Path:
    """Create the directory, with a tool `demo`."""
    directory.mkdir(parents=True)
    definition = f"name: demo\ntype: mcp\ncommand: ${{PYTHON}}\nargs: ['{_SERVER}']\n"
    (directory / "demo.yaml").write_text(definition, "utf-8")
    return directory


def is_there(process: int) -> bool:
    """Whether a process has not ended, or was not waited for."""
    return Path(f"/proc/{process}").exists()
