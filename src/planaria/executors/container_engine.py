"""The engine that runs containers (Docker, or Podman by the same interface), and the images for kernels."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import socket
import tarfile
from collections.abc import Iterator, Sequence
from importlib.resources import files as package_files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planaria.errors import RuntimeSetupError
from planaria.runtime.guest_files import guest_sources

if TYPE_CHECKING:
    import docker

__all__ = ["GUEST", "connect", "failures", "gone", "image_for_kernels", "labels", "raw_socket", "sweep"]

#: Where the part of planaria for kernels is, in the image.
GUEST: Final = "/opt/planaria"
_KERNEL: Final = "planaria.kernel"
_HOST: Final = "planaria.host"
_PREPARE: Final = f"""\
import compileall, os, subprocess, sys
if sys.version_info < (3, 11):
    sys.exit(f"planaria needs Python 3.11 or newer; this image has {{sys.version.split()[0]}}")
os.chdir("{GUEST}")
if os.path.getsize("requirements.txt"):
    command = [sys.executable, "-I", "-m", "pip", "install", "--no-cache-dir", "-r", "requirements.txt"]
    subprocess.run(command, check=True, env={{**os.environ, "PIP_BREAK_SYSTEM_PACKAGES": "1"}})
compileall.compile_dir("planaria", quiet=1)
"""


def connect(address: str | None) -> docker.APIClient:
    """A connection with the engine. Raises RuntimeSetupError when there is none."""
    try:
        import docker
    except ImportError as error:
        raise RuntimeSetupError("containers need the extra: pip install 'planaria[container]'") from error
    reasons = []
    for candidate in _addresses(address):
        try:
            client = docker.APIClient(base_url=candidate, version="auto", timeout=60)
        except docker.errors.DockerException as error:
            reasons.append(f"{candidate}: {error}")
        else:
            return client
    raise RuntimeSetupError(
        "there is no engine for containers: " + ("; ".join(reasons) or "no socket is there")
    )


def _addresses(address: str | None) -> list[str]:
    """Where the engine may be."""
    chosen = address or os.environ.get("DOCKER_HOST")
    if chosen:
        return [chosen]
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    sockets = ("/var/run/docker.sock", f"{runtime}/podman/podman.sock", "/run/podman/podman.sock")
    return [f"unix://{path}" for path in sockets if Path(path).exists()]


@contextlib.contextmanager
def failures(what: str) -> Iterator[None]:
    """Turn what goes wrong with the engine into RuntimeSetupError."""
    import docker
    import requests

    try:
        yield
    except (docker.errors.DockerException, requests.exceptions.RequestException, OSError) as error:
        raise RuntimeSetupError(f"{what}: {getattr(error, 'explanation', None) or error}") from error


@contextlib.contextmanager
def gone() -> Iterator[None]:
    """A container that is not there any more, or is about to go, is none to do something with.

    Nor is one of an engine that is away; should it be there still when that returns, `sweep` removes it.
    """
    import docker
    import requests

    try:
        yield
    except requests.exceptions.ConnectionError:
        pass
    except docker.errors.APIError as error:
        if error.status_code not in (404, 409):
            raise


def raw_socket(attached: object) -> socket.socket:
    """The socket behind what the SDK gives for an attached container."""
    found = getattr(attached, "_sock", attached)
    if type(found) is not socket.socket:
        raise RuntimeSetupError("the engine must be reached by a Unix socket or plain TCP")
    return found


# -- containers that were left behind ---------------------------------------------------------------------


def labels() -> dict[str, str]:
    """The labels that identify a container as this host's."""
    return {_KERNEL: "1", _HOST: _this_host()}


def _this_host() -> str:
    return f"{_boot()} {os.getpid()} {_born(os.getpid())}"


def _boot() -> str:
    """This boot of this machine."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return socket.gethostname()


def _born(process: int) -> str:
    """When a process was started; nothing when it does not exist."""
    try:
        return Path(f"/proc/{process}/stat").read_text("ascii", "replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def sweep(client: docker.APIClient) -> list[str]:
    """Remove the containers of processes of this machine that are no more; returns their ids."""
    removed = []
    with failures("the engine does not tell its containers"):
        for container in client.containers(all=True, filters={"label": _KERNEL}):
            boot, process, born = ((container["Labels"] or {}).get(_HOST, "") + "  ").split(" ")[:3]
            if boot == _boot() and process.isdigit() and _born(int(process)) != born:
                with gone():
                    client.remove_container(container["Id"], force=True, v=True)
                    removed.append(container["Id"])
    return removed


# -- images -----------------------------------------------------------------------------------------------


def image_for_kernels(client: docker.APIClient, base: str, deps: Sequence[str], timeout: float) -> str:
    """The image that has `base`, the requirements and the kernel's code; made when there is none."""
    import docker

    recipe = (package_files("planaria.executors") / "Dockerfile").read_text("utf-8")
    with failures(f"the image {base!r} cannot be had"):
        try:
            identity = client.inspect_image(base)["Id"]
        except docker.errors.ImageNotFound:
            client.pull(*_repository(base))
            identity = client.inspect_image(base)["Id"]
        context = _context(recipe, deps)
        key = hashlib.sha256(json.dumps([identity, hashlib.sha256(context).hexdigest()]).encode())
        tag = f"planaria-kernel:{key.hexdigest()[:32]}"
        try:
            client.inspect_image(tag)
        except docker.errors.ImageNotFound:
            _build(client, context, base, tag, bool(deps), timeout)
    return tag


def _repository(image: str) -> tuple[str, str]:
    repository, colon, tag = image.rpartition(":")
    return (repository, tag) if colon and "/" not in tag else (image, "latest")


def _context(recipe: str, deps: Sequence[str]) -> bytes:
    """What the image is made of, as an archive that is the same for the same contents."""
    contents = {f"{name}": source for name, source in guest_sources().items()}
    contents["Dockerfile"] = recipe.encode()
    contents["prepare.py"] = _PREPARE.encode()
    contents["requirements.txt"] = "".join(f"{one}\n" for one in sorted(set(deps))).encode()
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, data in sorted(contents.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(data))
    return file.getvalue()


def _build(
    client: docker.APIClient, context: bytes, base: str, tag: str, needs_network: bool, timeout: float
) -> None:
    said: list[str] = []
    steps = client.build(
        fileobj=io.BytesIO(context),
        custom_context=True,
        tag=tag,
        buildargs={"BASE": base},
        network_mode="default" if needs_network else "none",
        labels={_KERNEL: "image"},
        rm=True,
        forcerm=True,
        timeout=timeout,
        decode=True,
    )
    for step in steps:
        said.append(step.get("stream", ""))
        if "error" in step:
            tail = "".join(said)[-2000:].strip()
            raise RuntimeSetupError(
                f"the image for kernels cannot be made from {base!r}: {step['error']}\n{tail}"
            )
