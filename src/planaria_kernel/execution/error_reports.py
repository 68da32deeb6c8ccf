"""What an exception of user code is reported as."""

from __future__ import annotations

import itertools
import linecache
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, cast

import planaria_kernel.errors
from planaria_kernel.execution.names import module_of, name_of

__all__ = [
    "bare",
    "describe",
    "exception_of",
    "explain_awaiting",
    "explain_size",
    "is_library",
    "line_number",
    "report_unraisable",
    "type_name",
    "without_kernel_frames",
]

#: Characters of a message or traceback in a report; what is cut says so.
MAX_MESSAGE = 64 * 1024
MAX_TRACEBACK = 256 * 1024
#: Frames of a traceback that are formatted, each of which takes up to a millisecond.
MAX_FRAMES = 1000

_PLANARIA = __file__.rsplit(os.sep, 3)[0] + os.sep
_OURS = (f"{_PLANARIA}planaria_kernel{os.sep}", f"{_PLANARIA}planaria_shell{os.sep}")
#: Where its modules are, and where they were when they were compiled.
_STANDARD_LIBRARY = tuple(
    path.rpartition(os.sep)[0] + os.sep for path in (os.__file__, traceback.format_exc.__code__.co_filename)
)

#: Notes of an exception that are shown.
MAX_NOTES = 1000
_MORE_NOTES = "(further notes are left out)"

#: What asyncio and `await` say when they are given the value of a call instead of something to await.
_NOT_AWAITABLE = re.compile(
    r"An asyncio\.Future, a coroutine or an awaitable is required"
    r"|a coroutine was expected, got "
    r"|'[\w.]+' object can't be awaited$|object [\w.]+ can't be used in 'await' expression$"
    r"|'[\w.]+' object has no attribute 'add_done_callback'$"
)
_CALL_ASYNC = (
    " (a tool or workflow that is not awaited at once gives its value: for several at the same time, "
    "await asyncio.gather(tools.NAME.call_async(...), ...))"
)

#: What CPython says of an integer that does not fit a C type which has 64 bits on most computers.
_TOO_LARGE = ("Python int too large to convert to C ", "cannot fit 'int' into an index-sized integer")
_SIZES = " (sizes, indices and C long have 32 bits in the sandbox: at most 2147483647)"


def is_library(filename: str) -> bool:
    """Whether a source file belongs to Python, an installed package or the kernel, not to the user."""
    return (
        filename.startswith((_PLANARIA, *_STANDARD_LIBRARY, "<frozen "))
        or "site-packages" in filename
        or "dist-packages" in filename
    )


def type_name(kind: type) -> str:
    """The name of a class as Python prints it: qualified, with its module unless that is known."""
    name = kind.__qualname__
    module = kind.__module__
    return name if module in ("builtins", "__main__") else f"{module}.{name}"


def without_kernel_frames(trace: TracebackType | None) -> TracebackType | None:
    """A traceback as it would be if the kernel's functions were Python's own."""
    frames = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_OURS):
            frames.append(trace)
        trace = trace.tb_next
    kept: TracebackType | None = None
    for one in reversed(frames):
        kept = TracebackType(kept, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return kept


def report_unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """`sys.unraisablehook`, without frames of the kernel."""
    trace = without_kernel_frames(unraisable.exc_traceback)
    if unraisable.exc_value is not None:
        unraisable.exc_value.__traceback__ = trace
    fields = (unraisable.exc_type, unraisable.exc_value, trace, unraisable.err_msg, unraisable.object)
    sys.__unraisablehook__(type(unraisable)(fields))  # type: ignore[call-arg]


def describe(error: BaseException, restore: Callable[[], object] = lambda: False) -> dict[str, Any]:
    """The fields of an error report.

    `restore` is called when the modules that format tracebacks fail; when it says that it restored any, they
    are asked again. Whatever goes wrong while asking the exception about itself leaves a shorter report,
    never none.
    """
    kind = type(error)
    report: dict[str, Any] = {"type": name_of(kind), "module": module_of(kind)}
    report["lineno"] = line_number(error)
    if isinstance(error, SystemExit):
        code: object = error.code
        # By its type, since an object may claim any class; a plain int also for those of subclasses.
        if issubclass(type(code), int):
            report["exit_code"] = int.__add__(cast("int", code), 0)
        else:
            report["exit_code"] = 0 if code is None else 1
    ask = True
    try:
        report["message"] = _cut(_message(error), MAX_MESSAGE)
    except BaseException as failure:
        report["message"] = f"<the message is not available: str() raised {type(failure).__name__}>"
        # Then str() may be what does not end: the traceback must not ask again.
        ask = not isinstance(failure, KeyboardInterrupt)
    try:
        report["traceback"] = _cut(_format(error), MAX_TRACEBACK) if ask else None
    except Exception:
        if restore():
            return describe(error)
        report["traceback"] = None
    except BaseException:
        report["traceback"] = None
    if report["traceback"] is None:
        report["traceback"] = _plain_traceback(error, report["message"])
    return report


def bare(name: str, message: str = "", *, module: str = "builtins") -> dict[str, Any]:
    """The fields of an error report with nothing but a type and a message."""
    return {"type": name, "module": module, "message": message, "traceback": "", "lineno": None}


def _message(error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.msg:
        return str(error.msg)
    if isinstance(error, KeyError) and len(error.args) == 1 and isinstance(error.args[0], str):
        return repr(error.args[0])
    return str(error)


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"


def line_number(error: BaseException) -> int | None:
    """The line of the innermost user frame; of a SyntaxError in a cell, the line of the mistake; of what
    stopped a script, the line that the shell gave it as `script_line`."""
    line = getattr(error, "script_line", None)
    if isinstance(line, int):
        return line
    line = None
    trace = error.__traceback__
    while trace is not None:
        if not is_library(trace.tb_frame.f_code.co_filename):
            line = trace.tb_lineno
        trace = trace.tb_next
    if line is None and isinstance(error, SyntaxError) and isinstance(error.lineno, int):
        return error.lineno
    return line


def _format(error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.text is None and error.filename and error.lineno:
        # What the compiler finds after parsing comes without its line.
        error.text = linecache.getline(error.filename, error.lineno) or None
    described = traceback.TracebackException(type(error), error, error.__traceback__, compact=True)
    _keep_user_frames(described)
    text = "".join(described.format())
    return text + _how_to_add(error) if isinstance(error, ModuleNotFoundError) else text


def _how_to_add(error: ModuleNotFoundError) -> str:
    """A line about getting the package of a module that was not found; nothing where there is none to get."""
    name = error.name.partition(".")[0] if isinstance(error.name, str) else ""
    if not name or name in sys.modules or name in sys.stdlib_module_names:
        return ""
    if name == "IPython":
        return "note: display() and clear_output() are there without an import\n"
    return (
        f"note: a package is added with an image, planaria.Image.build(..., packages=[{name!r}]) or "
        f"`planaria image build --package {name}`, or in a workspace with deps.add({name!r})\n"
    )


class _Excerpt(traceback.StackSummary):
    """A deep stack that is formatted without the frames in its middle."""

    def format(self, **options: Any) -> list[str]:
        """As of the base class, with a line for the frames that are left out."""
        half = MAX_FRAMES // 2
        outer, inner = (traceback.StackSummary(part) for part in (self[:half], self[-half:]))
        left_out = f"  … {len(self) - 2 * half} frames left out …\n"
        return [*outer.format(**options), left_out, *inner.format(**options)]


def _keep_user_frames(outermost: traceback.TracebackException) -> None:
    """Drop the frames of libraries and of the kernel, and all but the first notes, also in causes, contexts
    and groups.
    """
    waiting = [outermost]
    while waiting:
        described = waiting.pop()
        if described.stack is not None:
            described.stack[:] = [frame for frame in described.stack if not is_library(frame.filename)]
            if len(described.stack) > MAX_FRAMES:
                described.stack = _Excerpt(described.stack)
        notes = described.__notes__
        if isinstance(notes, Sequence) and not isinstance(notes, (str, bytes)):
            kept = list(itertools.islice(notes, MAX_NOTES + 1))
            described.__notes__ = kept if len(kept) <= MAX_NOTES else [*kept[:-1], _MORE_NOTES]
        for inner in (described.__cause__, described.__context__, *(described.exceptions or ())):
            if inner is not None:
                waiting.append(inner)


def _plain_traceback(error: BaseException, message: str) -> str:
    """A traceback made with as little as possible: no source lines, the last frames only."""
    places: list[str] = []
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not is_library(code.co_filename):
            places.append(f'  File "{code.co_filename}", line {trace.tb_lineno}, in {code.co_name}\n')
            if len(places) > 50:
                del places[0]
        trace = trace.tb_next
    return f"Traceback (most recent call last):\n{''.join(places)}{name_of(type(error))}: {message}\n"


def exception_of(name: str, message: str, fields: dict[str, Any] | None = None) -> BaseException:
    """An exception of the builtin type of this name, or a RuntimeError that names the type.

    The field `args` are its arguments. With other `fields`, the type is one of planaria's own that takes
    these as keyword arguments.
    """
    import builtins

    if fields is not None:
        own = getattr(planaria_kernel.errors, name, None)
        if isinstance(own, type) and issubclass(own, planaria_kernel.errors.PlanariaError):
            return own(message, **fields)
    kind = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, BaseException):
        if issubclass(kind, OSError) or not issubclass(kind, (BaseExceptionGroup, StopIteration)):
            try:
                return kind(*fields["args"]) if fields and "args" in fields else kind(message)
            except Exception:  # a type that wants other arguments; the general form below names it
                pass
    elif name == "CancelledError":
        asyncio = sys.modules.get("asyncio")
        if asyncio is not None:
            return asyncio.CancelledError(message)  # type: ignore[no-any-return]
    return RuntimeError(f"{name}: {message}" if message else name)


def explain_awaiting(error: BaseException) -> None:
    """When the value of a tool or workflow was awaited, say in the message what to call instead."""
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            explain_awaiting(one)
    elif type(error) in (TypeError, ValueError, AttributeError):  # asyncio.run: ValueError before 3.14
        message = error.args[0] if error.args else None
        if type(message) is str and _NOT_AWAITABLE.match(message):
            error.args = (message + _CALL_ASYNC,)


def explain_size(error: OverflowError) -> None:
    """When an integer is too large for the sandbox alone, say so in its message."""
    if sys.hash_info.width > 32 or not error.args or type(error.args[0]) is not str:
        return
    message = error.args[0]
    if message.startswith(_TOO_LARGE) and not message.endswith(_SIZES):
        error.args = (message + _SIZES, *error.args[1:])
