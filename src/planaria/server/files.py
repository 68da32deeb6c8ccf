"""Requests about the files of a session."""

from __future__ import annotations

import io
import mimetypes
from collections.abc import Callable
from typing import Final, Literal, TypeVar

from anyio import to_thread
from starlette.responses import Response

from planaria.files.filesystem import FileKind
from planaria.files.view import Files
from planaria.server.models import DirectoryRequest, FileEntry, FileList, LinkRequest, RenameRequest
from planaria.server.problems import Problem
from planaria.server.routes import SESSION, Call, Parameter, Route

__all__ = ["BYTES", "FILE_ROUTES", "TAR", "entries_of", "entry_of"]

T = TypeVar("T")

BYTES: Final = "application/octet-stream"
TAR: Final = "application/x-tar"
_KINDS: Final[dict[FileKind, Literal["file", "directory", "link"]]] = {
    FileKind.REGULAR: "file",
    FileKind.DIRECTORY: "directory",
    FileKind.SYMBOLIC_LINK: "link",
}


def entries_of(files: Files, path: str) -> FileList:
    """What is in a directory. Raises FileSystemError."""
    above = path.rstrip("/")
    return FileList(path=path, entries=[entry_of(files, f"{above}/{name}") for name in files.listdir(path)])


async def _with_files(call: Call, function: Callable[[Files, str], T], *, save: bool = False) -> T:
    """Call a function of the session's files and the path that was given, on a thread."""
    path = call.query("path")
    if not path or "\0" in path:
        raise Problem(422, "path must be a name, absolute or below /home/user")
    async with call.sessions.using(call.token, call.session) as named:
        result = await to_thread.run_sync(function, named.session.files, path)
        if save:
            await call.sessions.save(named)
        return result


def entry_of(files: Files, path: str, *, follow: bool = False) -> FileEntry:
    """What is known of a file, or of a link."""
    found = files.stat(path, follow=follow)
    return FileEntry(
        name=path.rstrip("/").rpartition("/")[2] or "/",
        path=path,
        type=_KINDS.get(found.kind, "other"),
        size=found.size,
        mode=found.mode & 0o7777,
        modified_at=found.mtime / 1e9,
        target=files.readlink(path) if found.kind is FileKind.SYMBOLIC_LINK else None,
    )


async def get(call: Call) -> Response:
    """The contents of a file."""
    data = await _with_files(call, lambda files, path: files.read_bytes(path))
    name = call.query("path").rpartition("/")[2]
    guessed = mimetypes.guess_type(name)[0]
    return Response(
        data,
        media_type=BYTES,
        headers={
            "Content-Disposition": "attachment",
            "X-Content-Type-Options": "nosniff",
            **({"Planaria-Media-Type": guessed} if guessed else {}),
        },
    )


async def put(call: Call) -> FileEntry:
    """Write a file; its directories are created."""

    def write(files: Files, path: str) -> FileEntry:
        above = path.rpartition("/")[0]
        if above:
            files.mkdir(above, parents=True, exist_ok=True)
        files.write_bytes(path, call.body)
        return entry_of(files, path)

    return await _with_files(call, write, save=True)


async def delete(call: Call) -> None:
    """Remove a file, or a directory: an empty one, or with `recursive` all that is in it."""
    recursive = call.flag("recursive")

    def remove(files: Files, path: str) -> None:
        if recursive and files.is_dir(path) and not files.is_symlink(path):
            files.rmtree(path)
        else:
            files.remove(path)

    await _with_files(call, remove, save=True)


async def stat(call: Call) -> FileEntry:
    """What is known of a file."""
    follow = call.flag("follow")
    return await _with_files(call, lambda files, path: entry_of(files, path, follow=follow))


async def make_directory(call: Call) -> FileEntry:
    """Create a directory."""
    body: DirectoryRequest = call.body

    def make(files: Files, path: str) -> FileEntry:
        files.mkdir(path, parents=body.parents, exist_ok=body.parents)
        return entry_of(files, path)

    return await _with_files(call, make, save=True)


async def make_link(call: Call) -> FileEntry:
    """Create a symbolic link."""
    body: LinkRequest = call.body

    def link(files: Files, path: str) -> FileEntry:
        files.symlink(body.target, path)
        return entry_of(files, path)

    return await _with_files(call, link, save=True)


async def rename(call: Call) -> FileEntry:
    """Move a file or directory."""
    body: RenameRequest = call.body

    def move(files: Files, path: str) -> FileEntry:
        files.rename(path, body.to)
        return entry_of(files, body.to)

    return await _with_files(call, move, save=True)


async def list_files(call: Call) -> FileList:
    """What is in a directory."""

    return await _with_files(call, entries_of)


async def get_tar(call: Call) -> Response:
    """A directory as a tar archive."""

    def pack(files: Files, path: str) -> bytes:
        stream = io.BytesIO()
        files.export_tar(path, stream)
        return stream.getvalue()

    return Response(await _with_files(call, pack), media_type=TAR)


async def put_tar(call: Call) -> FileEntry:
    """Unpack a tar archive into a directory, which is created."""

    def unpack(files: Files, path: str) -> FileEntry:
        files.import_tar(io.BytesIO(call.body), path)
        return entry_of(files, path)

    return await _with_files(call, unpack, save=True)


_PATH: Final = Parameter(
    "path", {"type": "string", "minLength": 1}, "Absolute, or below /home/user", required=True
)
_RECURSIVE: Final = Parameter("recursive", {"type": "boolean"}, "With all that is in a directory")
_FOLLOW: Final = Parameter("follow", {"type": "boolean"}, "Look at what a link leads to")

FILE_ROUTES: Final = (
    Route("GET", f"{SESSION}/files", get, "Read a file", gives=BYTES, parameters=(_PATH,)),
    Route(
        "PUT",
        f"{SESSION}/files",
        put,
        "Write a file",
        takes=BYTES,
        gives=FileEntry,
        parameters=(_PATH,),
    ),
    Route(
        "DELETE",
        f"{SESSION}/files",
        delete,
        "Remove a file or directory",
        status=204,
        parameters=(_PATH, _RECURSIVE),
    ),
    Route(
        "GET",
        f"{SESSION}/files/stat",
        stat,
        "Look at a file",
        gives=FileEntry,
        parameters=(_PATH, _FOLLOW),
    ),
    Route(
        "POST",
        f"{SESSION}/files/directory",
        make_directory,
        "Create a directory",
        takes=DirectoryRequest,
        gives=FileEntry,
        status=201,
        parameters=(_PATH,),
    ),
    Route(
        "POST",
        f"{SESSION}/files/link",
        make_link,
        "Create a symbolic link",
        takes=LinkRequest,
        gives=FileEntry,
        status=201,
        parameters=(_PATH,),
    ),
    Route(
        "POST",
        f"{SESSION}/files/rename",
        rename,
        "Move a file or directory",
        takes=RenameRequest,
        gives=FileEntry,
        parameters=(_PATH,),
    ),
    Route(
        "GET",
        f"{SESSION}/files/list",
        list_files,
        "List a directory",
        gives=FileList,
        parameters=(_PATH,),
    ),
    Route("GET", f"{SESSION}/files/tar", get_tar, "Read a directory", gives=TAR, parameters=(_PATH,)),
    Route(
        "PUT",
        f"{SESSION}/files/tar",
        put_tar,
        "Write a directory",
        takes=TAR,
        gives=FileEntry,
        parameters=(_PATH,),
    ),
)
