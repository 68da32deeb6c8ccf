"""The methods of E2B's SDKs beside the sandbox: terminals, git, templates, volumes, secrets."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any, Final

import e2b
from e2b_probes import METHODS, class_of, got, probe

__all__: list[str] = []

#: What parameters are called in the SDKs, and something to give for each.
_GIVEN: Final[dict[str, Any]] = {
    "path": "/tmp/repository",
    "url": "https://example.com/repository.git",
    "branch": "main",
    "name": "one",
    "email": "one@example.com",
    "message": "a change",
    "key": "user.name",
    "value": "one",
    "paths": ["a.txt"],
    "username": "one",
    "password": "secret",
    "secret": "one",
    "alias": "base",
    "tags": ["new"],
    "target_name": "base",
    "template_id": "base",
    "data": "text",
}


async def _call(method: Any) -> Any:
    """Call a method with something for each parameter that it needs."""
    needed = [
        one.name
        for one in inspect.signature(method).parameters.values()
        if one.default is one.empty and one.kind is not one.VAR_KEYWORD
    ]
    return await got(method(**{name: _GIVEN[name] for name in needed}))


# -- terminals and git ---------------------------------------------------------------------------------------

_SIZE: Final = e2b.PtySize(rows=24, cols=80)


@probe("pty.create", "pty.connect", "pty.kill")
async def _terminal(box: Any) -> None:
    # There is none to connect to or to kill.
    more = {"on_data": print} if inspect.iscoroutinefunction(box.pty.create) else {}
    await got(box.pty.create(size=_SIZE, **more))


@probe("pty.resize")
async def _resize(box: Any) -> None:
    await got(box.pty.resize(1, _SIZE))


@probe("pty.send_stdin")
async def _keys(box: Any) -> None:
    await got(box.pty.send_stdin(1, b"ls\n"))


@probe("pty.stream_input")
async def _stream(box: Any) -> None:
    command = await got(box.commands.run("cat", background=True, stdin=True))
    try:
        if inspect.iscoroutinefunction(box.pty.create):
            stream = box.pty.stream_input(command.pid)
            await stream.send(b"ls\n")
            await stream.close()
        else:
            box.pty.stream_input(command.pid, [b"ls\n"])
    finally:
        await got(command.kill())


async def _git(name: str, box: Any) -> None:
    # Some of them take any failure of git for a missing value.
    try:
        await _call(getattr(box.git, name))
    finally:
        await got(box.commands.run("git --version"))


METHODS.update({f"git.{name}": partial(_git, name) for name in dir(e2b.Git) if not name.startswith("_")})

# -- templates -----------------------------------------------------------------------------------------------


@probe("Template.exists", "Template.alias_exists")
async def _exists(box: Any) -> None:
    kind = class_of(box, "Template")
    snapshot = await got(box.create_snapshot(name="as-a-template"))
    assert await got(kind.exists("base")) is True
    assert await got(kind.exists(snapshot.snapshot_id)) is True
    await got(box.delete_snapshot(snapshot.snapshot_id))
    assert await got(kind.exists(snapshot.snapshot_id)) is False
    assert await got(kind.alias_exists("code-interpreter-v1")) is True


async def _build(name: str, box: Any) -> None:
    kind = class_of(box, "Template")
    await got(getattr(kind, name)(kind().from_python_image().run_cmd("pip install rich"), name="mine"))


@probe("Template.get_build_status")
async def _build_status(box: Any) -> None:
    build = e2b.BuildInfo(alias="mine", name="mine", tags=[], template_id="mine", build_id="one")
    await got(class_of(box, "Template").get_build_status(build))


async def _of_class(kind: str, name: str, box: Any) -> None:
    await _call(getattr(class_of(box, kind), name))


METHODS.update({f"Template.{name}": partial(_build, name) for name in ("build", "build_in_background")})
METHODS.update(
    {
        f"Template.{name}": partial(_of_class, "Template", name)
        for name in ("assign_tags", "remove_tags", "get_tags")
    }
)

# -- volumes and secrets -------------------------------------------------------------------------------------


@probe("Volume.create")
async def _create_volume(box: Any) -> None:
    await got(class_of(box, "Volume").create("data"))


async def _known_volume(name: str, box: Any) -> None:
    await got(getattr(class_of(box, "Volume"), name)("one"))


async def _volume(name: str, box: Any) -> None:
    await _call(getattr(class_of(box, "Volume")("one", "one", "the-key"), name))


METHODS["Volume.list"] = partial(_of_class, "Volume", "list")
METHODS.update(
    {f"Volume.{name}": partial(_known_volume, name) for name in ("connect", "destroy", "get_info")}
)
METHODS.update(
    {
        f"Volume.{name}": partial(_volume, name)
        for name in ("exists", "make_dir", "read_file", "remove", "update_metadata", "write_file")
    }
)
METHODS.update(
    {
        f"Secret.{name}": partial(_of_class, "Secret", name)
        for name in ("create", "destroy", "exists", "get_info", "update")
    }
)


@probe("Secret.list", "SecretPaginator.next_items")
async def _secrets(box: Any) -> None:
    await got(class_of(box, "Secret").list().next_items())
