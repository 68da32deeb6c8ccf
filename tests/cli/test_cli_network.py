"""`--allow`, `--deny` and `--secret` of the program `planaria`, with servers on localhost."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from http_servers import serve
from planaria_process import Run

pytestmark = pytest.mark.slow

VALUE = "s3cr3t-value"

GET = "import os, urllib.request as r; print(r.urlopen(r.Request({!r}, headers={{'X-Key': os.environ.get('KEY', '')}})).read().decode())"


@pytest.fixture
def port() -> Iterator[int]:
    """The port of a server of HTTP."""
    yield from serve()


@pytest.fixture
def secure_port(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[int]:
    """The port of a server of HTTPS, whose authority the program trusts; KEY is a secret of its environment."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    path = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(path))
    environment.update(SSL_CERT_FILE=str(path), KEY=VALUE)
    yield from serve(context)


def test_allow_opens_the_network_for_a_program(planaria: Run, port: int) -> None:
    """A program reaches what --allow names, and nothing else; --json has a record of each request."""
    place = f"http://localhost:{port}"
    code = GET.format(f"{place}/chunked")
    assert planaria("run", "--allow", place, "-c", code).stdout == b"one two three\n"
    refused = planaria("run", "--allow", f"POST {place}", "-c", code)
    assert refused.returncode == 1
    assert b"is not allowed; allowed are localhost" in refused.stderr
    reported = json.loads(planaria("run", "--json", "--allow", f"localhost:{port}", "-c", code).stdout)
    assert [(one["method"], one["url"], one["status"]) for one in reported["requests"]] == [
        ("GET", f"{place}/chunked", 200)
    ]


def test_deny_wins_over_allow(planaria: Run, port: int) -> None:
    """What --deny names is refused, whatever --allow says."""
    place = f"http://localhost:{port}"
    script = f"curl -s {place}/chunked; curl -sS {place}/echo/x || echo , refused"
    done = planaria("bash", "--allow", place, "--deny", f"{place}/echo", "-c", script)
    assert done.stdout == b"one two three, refused\n"
    assert b"is denied by a rule" in done.stderr


def test_the_shell_and_the_interactive_session_have_the_options(planaria: Run, port: int) -> None:
    """--allow is there for scripts of the shell, and for cells of the session."""
    place = f"http://localhost:{port}"
    done = planaria("bash", "--allow", place, "-c", f"curl -sS {place}/chunked")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"one two three", b"")
    done = planaria("--allow", place, stdin=GET.format(f"{place}/chunked").encode())
    assert done.stdout == b"one two three\n"


def test_a_secret_reaches_its_host_and_not_the_code(planaria: Run, port: int, secure_port: int) -> None:
    """--secret sends the value of an environment variable to its host, which the code has a placeholder of."""
    secure = f"https://localhost:{secure_port}"
    options = ["--allow", f"localhost:{secure_port}", "--secret", f"KEY@localhost:{secure_port}"]
    code = "import os; print(os.environ['KEY'])\n" + GET.format(f"{secure}/echo")
    done = planaria("run", *options, "-c", code)
    assert done.stderr == b""
    name, answer = done.stdout.splitlines()
    assert name == b"planaria-secret-KEY-placeholder"
    assert json.loads(answer)["headers"]["x-key"] == "*" * len(VALUE)
    assert VALUE.encode() not in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--allow", "gopher://x"], b"'gopher' is not one of the schemes"),
        (["--deny", "a b c"], b"rule 'a b c'"),
        (["--proxy", "http://a.test"], b"--proxy has no effect without --allow"),
        (["--allow", "a.test", "--proxy", "socks5://b.test"], b"--proxy: proxies of the scheme 'socks5'"),
        (["--deny", "a.test"], b"--deny and --secret have no effect without --allow"),
        (["--allow", "a.test", "--secret", "KEY"], b"'KEY' is not NAME@HOST"),
        (["--allow", "a.test", "--secret", "NO_SUCH@a.test"], b"there is no environment variable NO_SUCH"),
        (["--allow", "a.test", "--secret", "SHORT@a.test"], b"not at least four characters"),
    ],
)
def test_wrong_options_are_named(
    planaria: Run, environment: dict[str, str], options: list[str], message: bytes
) -> None:
    """An option that makes no sense ends the program with status 2 before anything runs, and is named."""
    environment["SHORT"] = "abc"
    for command in ("run", "bash"):
        done = planaria(command, *options, "-c", "echo")
        assert (done.returncode, done.stdout) == (2, b"")
        assert message in b" ".join(done.stderr.split())


def test_a_missing_extra_is_named(environment: dict[str, str], tmp_path: Path) -> None:
    """Without the packages of the network's extra, --allow ends with one line that names the extra."""
    (tmp_path / "h11.py").write_text("raise ImportError('there is no h11')")
    done = subprocess.run(
        [sys.executable, "-m", "planaria", "run", "--allow", "example.com", "-c", "1"],
        env={
            **environment,
            "PYTHONPATH": os.pathsep.join([str(tmp_path), environment.get("PYTHONPATH", "")]),
        },
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: network= needs h11 and idna: pip install 'planaria[network]'\n"
