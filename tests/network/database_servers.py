"""Servers of databases for tests, in temporary directories: PostgreSQL and MariaDB."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import trustme

__all__ = ["PASSWORD", "mariadb", "postgresql"]

PASSWORD = "a word 'for' tests"
#: Between the choice of a port and the start of the server, another process may take the port.
_ATTEMPTS = 5
#: As root neither of the servers runs.
_USER = "nobody" if os.getuid() == 0 else None


@contextmanager
def postgresql(authority: trustme.CA) -> Iterator[int]:
    """The port of a PostgreSQL on localhost that wants `PASSWORD` of the user `planaria`, and speaks TLS with a
    certificate of `authority`. Skips the test where there is none.
    """
    initdb, server = (_program(name, Path("/usr/lib/postgresql")) for name in ("initdb", "postgres"))
    with _directory() as directory:
        data, password = directory / "data", directory / "password"
        password.write_text(PASSWORD)
        _own(password)
        options = ["-U", "planaria", "-A", "scram-sha-256", "--pwfile", str(password), "--no-sync"]
        subprocess.run([initdb, "-D", data, *options], check=True, stdout=subprocess.DEVNULL, user=_USER)
        certificate = authority.issue_cert("localhost")
        for name, blob in (
            ("key", certificate.private_key_pem),
            ("certificate", certificate.cert_chain_pems[0]),
        ):
            blob.write_to_path(str(directory / name))
            (directory / name).chmod(0o600)
            _own(directory / name)
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "fsync": "off",
            "ssl": "on",
            "ssl_key_file": directory / "key",
            "ssl_cert_file": directory / "certificate",
        }
        command = [server, "-D", str(data), *(f"--{name}={value}" for name, value in settings.items())]
        with _running(command, directory / "log", "ready to accept connections") as port:
            yield port


@contextmanager
def mariadb() -> Iterator[int]:
    """The port of a MariaDB on localhost that lets in everybody. Skips the test where there is none."""
    server = _program("mariadbd", Path("/usr/sbin"))
    with _directory() as directory:
        data = directory / "data"
        data.mkdir()
        _own(data)
        command = [server, "--no-defaults", f"--datadir={data}", "--bind-address=127.0.0.1"]
        command += [f"--socket={directory / 'socket'}", "--skip-grant-tables", "--skip-networking=0"]
        command += ["--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=8M"]
        with _running(command, directory / "log", "ready for connections") as port:
            yield port


def _program(name: str, place: Path) -> str:
    found = shutil.which(name) or next(map(str, sorted(place.rglob(name), reverse=True)), None)
    if found is None:
        pytest.skip(f"{name} is NOT INSTALLED: its clients are not tested (make tools)")
    return found


@contextmanager
def _directory() -> Iterator[Path]:
    """A directory that the server's user may enter."""
    with tempfile.TemporaryDirectory() as name:
        _own(Path(name))
        yield Path(name)


def _own(path: Path) -> None:
    if _USER is not None:
        shutil.chown(path, _USER)


@contextmanager
def _running(command: Sequence[str], log: Path, ready: str) -> Iterator[int]:
    """The port of a server, once its log says that it listens."""
    for _ in range(_ATTEMPTS):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        with log.open("wb") as output:
            process = subprocess.Popen([*command, f"--port={port}"], stdout=output, stderr=output, user=_USER)
        try:
            while process.poll() is None:
                if ready in log.read_text("utf-8", "replace"):
                    yield port
                    return
                time.sleep(0.02)
        finally:
            process.terminate()
            process.wait(60)
    raise AssertionError(f"{command[0]} did not start:\n{log.read_text('utf-8', 'replace')}")
