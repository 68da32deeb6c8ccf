"""What has changed between two snapshots: variables by asking the kernels, files by their descriptions."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from planaria.errors import SnapshotError, SnapshotMismatch
from planaria.executors.executor import Executor, SandboxSetup
from planaria.executors.messages import Answer, Command, EndOfInput, HostCall, Query, Raised
from planaria.executors.wasm import WasmExecutor
from planaria.files.layout import make_directories, standard_layout
from planaria.files.manifest import FORMAT as MEMORY
from planaria.files.manifest import bytes_of
from planaria.files.memory import MemoryFileSystem
from planaria.files.mount import MountFileSystem
from planaria.limits import Limits
from planaria.runtime.guest_files import library
from planaria.snapshot.decode import read_state
from planaria.snapshot.parts import SnapshotParts
from planaria.snapshot.restore import ask, revive

__all__ = ["FileChanges", "SnapshotDifference", "Variable", "difference", "fingerprint"]

#: Run inside a sandbox that is thrown away: texts cannot tell two large arrays or two versions of a
#: function apart.
_DIGESTS: Final = """
import hashlib, marshal, pickle, types

def contents(value):
    if isinstance(value, types.FunctionType):
        return marshal.dumps(value.__code__), [contents(one) for one in value.__defaults__ or ()]
    if isinstance(value, type):
        members = sorted(vars(value).items())
        return [(name, contents(one)) for name, one in members if not name.startswith("__")]
    return pickle.dumps(value)

def digest(value):
    try:
        return hashlib.blake2b(repr(contents(value)).encode(), digest_size=16).hexdigest()
    except BaseException:
        return None

def digests(space, names):
    return {name: digest(space[name]) for name in names if name in space}
"""
_PLAIN: Final = frozenset({"int", "float", "bool", "complex", "NoneType"})


class Variable(NamedTuple):
    """A variable as a difference shows it."""

    type: str
    repr: str
    """At most about 200 characters of it."""


@dataclass(frozen=True, slots=True)
class FileChanges:
    """Paths, sorted. A directory has changed when its mode has."""

    added: list[str]
    removed: list[str]
    changed: list[str]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


@dataclass(frozen=True, slots=True)
class SnapshotDifference:
    """What the later of two snapshots has more, less, or otherwise; variables by name."""

    added: dict[str, Variable]
    removed: dict[str, Variable]
    changed: dict[str, tuple[Variable, Variable]]
    """Before and after. Large and opaque values are compared by their contents as far as pickle can tell."""
    files: FileChanges

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.files)

    def __str__(self) -> str:
        lines = [f"+ {name}: {one.type} = {one.repr}" for name, one in sorted(self.added.items())]
        lines += [f"- {name}: {one.type} = {one.repr}" for name, one in sorted(self.removed.items())]
        lines += [
            f"~ {name}: {old.type} = {old.repr} -> {new.type} = {new.repr}"
            for name, (old, new) in sorted(self.changed.items())
        ]
        lines += [f"+ {path}" for path in self.files.added]
        lines += [f"- {path}" for path in self.files.removed]
        lines += [f"~ {path}" for path in self.files.changed]
        return "\n".join(lines)


def difference(before: SnapshotParts, after: SnapshotParts) -> SnapshotDifference:
    """See `Snapshot.diff`."""
    old, new = _Kernel(before), _Kernel(after)
    try:
        there, here = old.variables(), new.variables()
        both = there.keys() & here.keys()
        changed = {name for name in both if there[name] != here[name]}
        opaque = sorted(name for name in both - changed if here[name].type not in _PLAIN)
        if opaque:
            left, right = old.digests(opaque), new.digests(opaque)
            changed |= {name for name in opaque if left.get(name) != right.get(name)}
    finally:
        old.close()
        new.close()
    return SnapshotDifference(
        {name: here[name] for name in sorted(here.keys() - there.keys())},
        {name: there[name] for name in sorted(there.keys() - here.keys())},
        {name: (there[name], here[name]) for name in sorted(changed)},
        file_changes(before.manifest, after.manifest),
    )


def fingerprint(executor: Executor, name: str) -> object:
    """What a variable of a kernel is, to be compared with what it is in another state; None without it.

    Runs code in the kernel, which is to be discarded.
    """
    variables = _dictionary(ask(executor, Query("names")))
    if name not in variables:
        return None
    return variables[name], _dictionary(ask(executor, Query("evaluate", (_digests_of([name]),)))).get(name)


def _digests_of(names: list[str]) -> str:
    """An expression that gives digests of variables."""
    return f"(lambda space: (exec({_DIGESTS!r}, space), space['digests'](globals(), {names!r}))[1])({{}})"


def _dictionary(answer: object) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise SnapshotMismatch("a snapshot cannot be started: its kernel gave no names")
    return answer


class _Silent:
    """A host that offers nothing."""

    def output(self, descriptor: int, data: bytes) -> None:
        pass

    def display(self, kind: str, data: dict[str, object], metadata: dict[str, object]) -> None:
        pass

    def call(self, name: str, arguments: tuple[object, ...], keywords: dict[str, object]) -> Answer:
        return Raised("RuntimeError", f"{name}() cannot be called while snapshots are compared")

    def begin_call(self, call: HostCall) -> Raised:
        return Raised("RuntimeError", f"{call.name}() cannot be called while snapshots are compared")

    def input(self, prompt: str) -> Answer:
        return EndOfInput()

    def receive(self, descriptor: int, buffer: memoryview) -> int:
        raise OSError(errno.EBADF, "there is no network here")

    def send(self, descriptor: int, buffer: memoryview) -> int:
        raise OSError(errno.EBADF, "there is no network here")


class _Kernel:
    """A snapshot restored to be inspected, and discarded afterwards."""

    def __init__(self, snapshot: SnapshotParts) -> None:
        files = _tree(snapshot)
        state = read_state(snapshot, files, without_mounts=snapshot.header.mounts)
        self._executor = WasmExecutor()
        self._executor.start(
            _Silent(), Limits(memory=None), SandboxSetup(image=state.kernel.image, files=files)
        )
        try:
            revive(self._executor, state.kernel, snapshot.header.tier)
        except BaseException:
            self._executor.close()
            raise

    def variables(self) -> dict[str, Variable]:
        names = self._ask(Query("names"))
        return {name: Variable(*reported) for name, reported in names.items()}

    def digests(self, names: list[str]) -> dict[str, str | None]:
        return self._ask(Query("evaluate", (_digests_of(names),)))

    def _ask(self, command: Command) -> dict[str, Any]:
        return _dictionary(ask(self._executor, command))

    def close(self) -> None:
        self._executor.close()


def _tree(snapshot: SnapshotParts) -> MountFileSystem:
    """A standard tree with everything mounted whose contents are in the snapshot."""
    tree = standard_layout(library=library())
    present = {mount.path for mount in tree.mounts()}
    for path, _ in _memory_mounts(snapshot.manifest):
        if bytes_of(path) not in present:
            make_directories(tree, bytes_of(path))
            tree.mount(bytes_of(path), MemoryFileSystem())
    return tree


# -- files ---------------------------------------------------------------------------------------------


def file_changes(before: dict[str, Any], after: dict[str, Any]) -> FileChanges:
    """Compare two descriptions of trees; what the host keeps is not in them. Raises SnapshotError."""
    try:
        old, new = dict(_files(before)), dict(_files(after))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SnapshotError(f"the description of the files is not well formed: {error!r}") from None
    return FileChanges(
        sorted(new.keys() - old.keys()),
        sorted(old.keys() - new.keys()),
        sorted(path for path in old.keys() & new.keys() if old[path] != new[path]),
    )


def _memory_mounts(manifest: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for mount in manifest.get("mounts", ()):
        state = mount["state"]
        if state is not None and state.get("format") == MEMORY:
            yield mount["path"], state


def _files(manifest: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every path with what can change about it."""
    for root, state in _memory_mounts(manifest):
        nodes = {node["inode"]: node for node in state["nodes"]}
        pending = [(root.rstrip("/"), nodes[1])]
        seen = {1}
        while pending:
            path, directory = pending.pop()
            for name, inode in directory["names"].items():
                node = nodes[inode]
                yield (
                    f"{path}/{name}",
                    (node["mode"], node.get("size"), node.get("chunks"), node.get("target")),
                )
                if "names" in node and inode not in seen:
                    seen.add(inode)
                    pending.append((f"{path}/{name}", node))
