"""A real engine for containers, and an image made of this machine's own Python."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from wheels import make_wheel

__all__ = ["ADDRESS", "IMAGE", "running_engine"]

#: An engine that is running already, with the image in it; else one is started.
ADDRESS = os.environ.get("PLANARIA_TEST_ENGINE")
IMAGE = "planaria-test-python:latest"

_PATIENCE = 60.0


@contextlib.contextmanager
def running_engine() -> Iterator[str]:
    """The address of an engine; raises LookupError, which says why, when there can be none."""
    if ADDRESS is not None:
        yield ADDRESS
        return
    program = shutil.which("dockerd")
    if program is None:
        raise LookupError("dockerd is not installed (Debian: docker.io)")
    if os.getuid() != 0:
        raise LookupError("dockerd can be started by root only; PLANARIA_TEST_ENGINE names one that runs")
    reasons = []
    # The second works everywhere, and copies all files for each container.
    for driver in ("overlay2", "vfs"):
        with contextlib.ExitStack() as stack:
            try:
                address = stack.enter_context(_daemon(program, driver))
            except LookupError as error:
                reasons.append(f"{driver}: {error}")
                continue
            yield address
            return
    raise LookupError("; ".join(reasons))


@contextlib.contextmanager
def _daemon(program: str, driver: str) -> Iterator[str]:
    """An engine of our own, with all that it has in a directory that goes with it."""
    directory = Path(tempfile.mkdtemp(prefix="planaria-engine-"))
    address = f"unix://{directory}/engine.sock"
    command = [
        program,
        f"--storage-driver={driver}",
        "--iptables=false",
        "--ip6tables=false",
        "--bridge=none",
    ]
    command += ["--host", address, "--data-root", f"{directory}/data", "--exec-root", f"{directory}/exec"]
    command += ["--pidfile", f"{directory}/pid", "--config-file", f"{directory}/none.json"]
    log = directory / "log"
    (directory / "none.json").write_text("{}", "utf-8")
    with log.open("wb") as output:
        daemon = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
    try:
        _wait(daemon, address, log)
        _import_image(address)
        yield address
    finally:
        daemon.terminate()
        try:
            daemon.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
        subprocess.run(
            ["umount", "--lazy", "--recursive", f"{directory}/exec"], capture_output=True, check=False
        )
        shutil.rmtree(directory, ignore_errors=True)


def _wait(daemon: subprocess.Popen[bytes], address: str, log: Path) -> None:
    """Return when the engine takes connections, which it does when it is ready."""
    end = time.monotonic() + _PATIENCE
    while True:
        with socket.socket(socket.AF_UNIX) as connection, contextlib.suppress(OSError):
            connection.connect(address.removeprefix("unix://"))
            return
        if daemon.poll() is not None or time.monotonic() > end:
            tail = log.read_text("utf-8", "replace")[-2000:]
            raise LookupError(f"dockerd does not run here; the end of its log:\n{tail}")
        time.sleep(0.1)


def _import_image(address: str) -> None:
    import docker

    client = docker.APIClient(base_url=address, version="auto", timeout=300)
    try:
        repository, _, tag = IMAGE.partition(":")
        # What pip finds is in the image: no test needs a network.
        changes = ["ENV PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels"]
        client.import_image_from_data(_root_file_system(), repository=repository, tag=tag, changes=changes)
    finally:
        client.close()


def _root_file_system() -> bytes:
    """An archive with an interpreter of this machine, its standard library and pip, a shell and a few
    programs, and the libraries that all these need."""
    interpreter = Path("/usr/bin/python3")
    if not interpreter.exists():
        interpreter = Path(sys._base_executable)  # type: ignore[attr-defined]
    interpreter = interpreter.resolve()
    found = subprocess.run(
        [
            interpreter,
            "-I",
            "-c",
            "import os, sys; print(os.path.dirname(os.__file__), sys.version_info[:2])",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    library = Path(found.split()[0])
    programs = [
        Path(path).resolve() for name in ("sh", "sleep", "yes", "echo", "id") if (path := shutil.which(name))
    ]
    binaries = [interpreter, *programs, *library.glob("lib-dynload/*.so")]
    needed: set[str] = set()
    for binary in binaries:
        said = subprocess.run(["ldd", binary], capture_output=True, text=True, check=False).stdout
        needed.update(re.findall(r"(/\S+) \(0x", said))
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, target in (("bin", "usr/bin"), ("lib", "usr/lib"), ("lib64", "usr/lib64")):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            archive.addfile(link)
        directories = {"tmp", "work", "packages", "opt", "proc", "sys", "dev", "etc", "usr/bin", "usr/lib64"}
        for path in (str(library).lstrip("/"), *(_place(path) for path in needed)):
            directories.update(map(str, Path(path).parents))
        for name in sorted(directories - {"."}):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for path in sorted(needed):
            archive.add(os.path.realpath(path), _place(path))
        with tempfile.TemporaryDirectory() as wheels:
            for name, version in (("sample_one", "1.0"), ("sample_one", "2.0"), ("sample_two", "1.0")):
                make_wheel(Path(wheels), name, version)
            archive.add(wheels, "wheels", filter=_readable)
        archive.add(interpreter, "usr/bin/python3")
        for program, name in zip(programs, ("sh", "sleep", "yes", "echo", "id"), strict=False):
            archive.add(program, f"usr/bin/{name}")
        pip = importlib.util.find_spec("pip")
        if (
            pip is not None and pip.origin is not None
        ):  # where Debian's interpreter looks, and where others do
            for place in ("usr/lib/python3/dist-packages", f"{str(library).lstrip('/')}/site-packages"):
                archive.add(Path(pip.origin).parent, f"{place}/pip")
        archive.add(library, str(library).lstrip("/"), filter=_without_tests)
    return file.getvalue()


def _place(path: str) -> str:
    """Where a library goes, with /lib and the like below /usr."""
    place = path.lstrip("/")
    return place if place.startswith(("usr/", "root/", "opt/")) else f"usr/{place}"


def _readable(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.mode |= 0o755 if entry.isdir() else 0o644
    return entry


def _without_tests(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    parts = entry.name.split("/")
    skipped = {"__pycache__", "test", "tests", "site-packages", "dist-packages", "idlelib", "config-3"}
    return None if skipped & set(parts) or parts[-1].startswith("config-") else entry
