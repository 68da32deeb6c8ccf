"""The conformance suite of the protocol's authors and their Inspector, on `planaria mcp`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from mcp_clients import COMMAND, http_server, served

#: Where `make integrations` installs what package.json lists.
NODE = Path(__file__).parents[2] / ".venv-integrations" / "mcp-suites" / "node_modules"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not NODE.is_dir(), reason="`make integrations` has not installed the suites"),
]

#: Packages, their options, and the revision of the protocol whose expected failures there are.
SUITES = {
    "2026-07-28": ("conformance-next", ["--requirements", "2026-07-28"], "2026-07-28"),
    "2025-11-25": ("conformance-next", ["--requirements", "2025-11-25"], "2025-11-25"),
    "0.1.16": ("@modelcontextprotocol/conformance", ["--spec-version", "2025-11-25"], "2025-11-25"),
}
FOLDER = Path(__file__).parent / "mcp_suites"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http_server() as (url, _):
        yield url


@pytest.fixture(scope="module")
def fixtures_url() -> Iterator[str]:
    with served([sys.executable, str(FOLDER / "fixtures.py")]) as (url, _):
        yield url


def node(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program on the Node that is installed beside the suites."""
    path = f"{NODE / 'node' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(["node", *arguments], env=environment, capture_output=True, text=True, timeout=600)


def conforms(url: str, suite: str, listed: str) -> None:
    package, options, revision = SUITES[suite]
    program = str(NODE / package / "dist" / "index.js")
    failures = str(FOLDER / f"{listed}-{revision}.yaml")
    done = node(program, "server", "--url", url, *options, "--expected-failures", failures)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("suite", SUITES)
def test_conformance(url: str, suite: str) -> None:
    """All scenarios of a revision pass but those that are listed, and of those none passes."""
    conforms(url, suite, "expected-failures")


@pytest.mark.parametrize("suite", SUITES)
def test_conformance_with_fixtures(fixtures_url: str, suite: str) -> None:
    """A server with the tools, resources and prompts that the suite calls passes all that is mandatory."""
    conforms(fixtures_url, suite, "fixtures-failures")


INSPECTOR = str(NODE / ".bin" / "mcp-inspector")
CALL = ["--method", "tools/call", "--tool-name", "run_python", "--tool-arg", "code=print(6 * 7)"]


def test_inspector_lists_and_calls_over_http(url: str) -> None:
    """The Inspector's command line finds the tools and calls one."""
    listed = node(INSPECTOR, "--cli", url, "--method", "tools/list")
    names = [tool["name"] for tool in json.loads(listed.stdout)["tools"]]
    assert names == ["run_python", "run_bash", "read_file", "write_file", "sessions"]
    called = node(INSPECTOR, "--cli", url, *CALL)
    assert json.loads(called.stdout)["content"] == [{"type": "text", "text": "42"}]


def test_inspector_calls_over_stdio() -> None:
    """It starts the server itself, as clients on a desktop do."""
    called = node(INSPECTOR, "--cli", "--connect-timeout", "120000", *CALL, "--", *COMMAND)
    assert json.loads(called.stdout)["structuredContent"]["stdout"] == "42\n", called.stderr
