"""`planaria store`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import planaria as package

pytestmark = pytest.mark.slow

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


def fill(directory: Path) -> None:
    storage = package.FileStorage(directory)
    storage.set_tool_definition("curl", "name: curl\n")
    storage.get_workflow_library().add("flow", "def run(): pass\n", "A flow\nof two lines")
    storage.get_artifact_store().save("reports/n", [1], "Numbers")
    storage.get_dependency_list().add("attrs>=24")


def test_store(planaria: Run, tmp_path: Path, redis_url: str) -> None:
    """A workspace goes from a directory into Redis and SQLite and back, and is compared on the way."""
    fill(tmp_path / "base")
    redis = f"{redis_url}?prefix={tmp_path.name}:&workspace=a"
    done = planaria("store", "bootstrap", "base", redis)
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().splitlines() == [
        "+ artifact reports/n",
        "+ requirements requirements.txt",
        "+ tool curl.yaml",
        "+ workflow flow",
    ]
    same = planaria("store", "diff", "base", redis)
    assert (same.returncode, same.stdout) == (0, b"")
    assert planaria("store", "pull", redis, "sqlite:///x.db").returncode == 0
    (tmp_path / "base/workflows/flow.py").write_text("def run(): return 2\n")
    differ = planaria("store", "diff", "--json", "sqlite:///x.db", "base")
    assert differ.returncode == 1
    assert json.loads(differ.stdout) == [{"action": "changed", "kind": "workflow", "name": "flow"}]
    kept = planaria("store", "bootstrap", "base", "sqlite:///x.db")
    assert kept.stdout.startswith(b"= workflow flow\n1 that differ were kept")
    assert (
        planaria("store", "bootstrap", "--overwrite", "base", "sqlite:///x.db").stdout == b"~ workflow flow\n"
    )


def test_list(planaria: Run, tmp_path: Path) -> None:
    """What is in a workspace is listed with its kind and description."""
    fill(tmp_path / "base")
    listed = planaria("store", "list", "base").stdout.decode()
    assert [line.split()[:2] for line in listed.splitlines()][1:] == [
        ["artifact", "reports/n"],
        ["requirements", "requirements.txt"],
        ["tool", "curl.yaml"],
        ["workflow", "flow"],
    ]
    assert "A flow" in listed
    assert "two lines" not in listed
    reported = json.loads(planaria("store", "list", "--json", "base").stdout)
    assert reported[0] == {"kind": "artifact", "name": "reports/n", "description": "Numbers"}


def test_places(planaria: Run) -> None:
    """A place that is not there, or no place at all, is reported in one line."""
    for place, said in (
        ("nowhere", b"there is no workspace at nowhere"),
        ("sqlite:///none.db", b"there is no workspace at none.db"),
        ("sqlite://none.db", b"write sqlite:///relative.db"),
        ("ftp://x/y", b"a workspace is at a path, or at sqlite:///"),
        ("file:///x?color=red", b"unknown parameters: color"),
        ("redis://127.0.0.1:1/0", b"cannot be used"),
    ):
        done = planaria("store", "list", place)
        assert done.returncode == 1
        assert said in done.stderr
        assert b"Traceback" not in done.stderr


def test_descriptions_cannot_drive_the_terminal(planaria: Run, tmp_path: Path) -> None:
    """Escape sequences and markup that code wrote into a description are listed as text."""
    storage = package.FileStorage(tmp_path / "base")
    storage.get_artifact_store().save("n", [1], "\x1b]0;title\x07\x1b[2J [red]x[/red]\u202e")
    listed = planaria("store", "list", "base").stdout
    assert b"\x1b" not in listed
    assert b"\x07" not in listed
    text = "".join(listed.decode().split())
    assert "\\x1b]0;title\\x07\\x1b[2J[red]x[/red]\\u202e" in text
