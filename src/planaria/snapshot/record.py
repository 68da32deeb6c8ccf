"""What a snapshot holds beside memory and files: the system's tables, calls that wait, declared callbacks."""

from __future__ import annotations

import hashlib
import inspect
import keyword
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from planaria.errors import ProtocolError, SnapshotCorrupt
from planaria.executors.messages import HostCall
from planaria.snapshot.state import WaitingRun
from planaria_kernel.protocol import Budget, decode, encode

__all__ = ["WORKSPACE", "Declaration", "Record", "fingerprint"]

#: A callback as it is declared to the kernel; see `session.callbacks.Callback.declaration`.
Declaration = dict[str, Any]

#: The declaration by which a snapshot says that its session had a workspace; no callback can have the name.
WORKSPACE: Final = "@workspace"

_KINDS: Final = frozenset(kind.name for kind in inspect._ParameterKind)
_MAX_COUNT: Final = 1 << 53
#: Bytes that the decoded values may take.
_MOST_MEMORY: Final = 1 << 30


def fingerprint(declaration: Declaration) -> str:
    """Names what a call of a callback has to look like: its name, parameters and schema; not the
    description.
    """
    reported = (declaration["name"], declaration.get("signature"), declaration.get("schema"))
    return hashlib.blake2b(encode(reported), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Record:
    """The plain values of a session at rest."""

    system: dict[str, Any]
    """See `planaria.machine.wasi.system.Wasi.state`, which also judges it."""
    pending: tuple[HostCall, ...]
    run: WaitingRun | None
    declarations: tuple[Declaration, ...]

    def encode(self) -> bytes:
        run = self.run
        return encode(
            (
                self.system,
                [_described(call) for call in self.pending],
                None
                if run is None
                else (
                    run.source,
                    run.count,
                    [_described(call) for call in run.pending],
                    [(one, run.suspended[one]) for one in sorted(run.suspended)],
                    # When exactly, the kernel knows: it is asked on restore. Seconds from now are not state.
                    run.wake_in is not None,
                    run.stdout,
                    run.stderr,
                ),
                list(self.declarations),
            )
        )

    @classmethod
    def decode(cls, data: bytes) -> Record:
        """Raises SnapshotCorrupt unless every value is of its type."""
        try:
            value = decode(data, Budget(memory=_MOST_MEMORY))
        except ProtocolError as error:
            raise SnapshotCorrupt(f"the tables of this snapshot are damaged: {error}") from None
        match value:
            case (dict(system), list(pending), run, list(declarations)):
                pass
            case _:
                _refuse("the tables")
        return cls(
            system,
            tuple(_call(call) for call in pending),
            None if run is None else _run(run),
            tuple(_declaration(one) for one in declarations),
        )


def _described(call: HostCall) -> tuple[Any, ...]:
    return (call.id, call.name, call.args, call.kwargs or {})


def _refuse(what: str) -> NoReturn:
    raise SnapshotCorrupt(f"{what} of this snapshot are not well formed")


def is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < _MAX_COUNT


def _call(value: object) -> HostCall:
    match value:
        case (int(identifier), str(name), tuple(arguments), dict(keywords)) if is_count(identifier) and all(
            type(key) is str for key in keywords
        ):
            return HostCall(identifier, name, arguments, keywords)
    _refuse("the host calls")


def _run(value: object) -> WaitingRun:
    match value:
        case (
            str(source),
            int(count),
            list(pending),
            list(suspended),
            bool(timer),
            bytes(stdout),
            bytes(stderr),
        ) if is_count(count):
            calls = tuple(_call(call) for call in pending)
            known = {call.id for call in calls}
            reasons: dict[int, str] = {}
            for one in suspended:
                match one:
                    case (int(identifier), str(reason)) if identifier in known:
                        reasons[identifier] = reason
                    case _:
                        _refuse("the suspended calls")
            return WaitingRun(source, count, calls, reasons, 0.0 if timer else None, stdout, stderr)
    _refuse("the waiting execution")


def _is_name(name: str) -> bool:
    return name == WORKSPACE or all(
        part.isidentifier() and not keyword.iskeyword(part) for part in name.split(".")
    )


def _declaration(value: object) -> Declaration:
    match value:
        case {"name": str(name), "description": str(description), **rest} if (
            not rest.keys() - {"schema", "signature"}
            and _is_name(name)
            and isinstance(rest.get("schema"), (dict, type(None)))
        ):
            _check_signature(rest.get("signature"))
            reported: Declaration = {"name": name, "description": description}
            reported.update((str(key), one) for key, one in rest.items())
            return reported
    _refuse("the callbacks")


def _check_signature(value: object) -> None:
    if value is None:
        return
    if not isinstance(value, (list, tuple)):
        _refuse("the parameters of callbacks")
    parameters: list[inspect.Parameter] = []
    for parameter in value:
        match parameter:
            case (str(name), str(kind), (str() | None), *default) if (
                name.isidentifier()
                and kind in _KINDS
                and len(default) <= 1
                and all(isinstance(one, str) for one in default)
            ):
                has = {"default": default[0]} if default else {}
            case _:
                _refuse("the parameters of callbacks")
        try:
            parameters.append(inspect.Parameter(name, getattr(inspect.Parameter, kind), **has))
        except ValueError:
            _refuse("the parameters of callbacks")
    try:
        inspect.Signature(parameters)
    except ValueError:
        _refuse("the parameters of callbacks")
