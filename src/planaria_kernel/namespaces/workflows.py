"""`workflows`: Python that was saved under a name. The host keeps the sources; they run here."""

from __future__ import annotations

import builtins
import inspect
import linecache
import sys
from collections.abc import Callable, Coroutine, Mapping
from types import CodeType, ModuleType
from typing import Any, Final

from planaria_kernel.errors import WorkflowError
from planaria_kernel.namespaces.awaiting import is_awaited
from planaria_kernel.namespaces.operations import Host, Steps, operation
from planaria_kernel.namespaces.tools import signature_of

__all__ = ["Runner", "Workflow", "Workflows"]

#: Workflows that call workflows, at most so deep.
MAX_DEPTH: Final = 32
_MOST_COMPILED: Final = 256


class Runner:
    """What workflows are run with.

    `names` are what they find beside the builtins; `drive` takes a coroutine to its end, blocking; `check`
    sees a source before it is compiled.
    """

    def __init__(
        self,
        names: Mapping[str, Any],
        drive: Callable[[Coroutine[Any, Any, Any]], Any],
        check: Callable[[str], None],
    ) -> None:
        self.names = names
        self.drive = drive
        self._check = check
        #: What was compiled lately, by name: digest, source, code.
        self._compiled: dict[str, tuple[str, str, CodeType]] = {}

    def known(self, name: str) -> tuple[str, str] | tuple[None, None]:
        """The digest and the source of that name that are here."""
        known = self._compiled.get(name)
        return (None, None) if known is None else (known[0], known[1])

    def code(self, name: str, digest: str, source: str) -> CodeType:
        """The compiled source. Raises SyntaxError."""
        file = f"<workflow {name}>"
        known = self._compiled.get(name)
        if known is None or known[0] != digest:
            self._check(source)
            known = (digest, source, compile(source, file, "exec", dont_inherit=True))
            while len(self._compiled) >= _MOST_COMPILED:
                del self._compiled[next(iter(self._compiled))]
            self._compiled[name] = known
        # For tracebacks; another version may have been run since.
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        return known[2]


class Workflow:
    """One workflow as it was when it was looked up: `workflows.NAME`. Call it plainly or with `await`.

    `call_sync` blocks also where it is awaited, and `call_async` always gives a coroutine.
    """

    def __init__(self, runner: Runner, chain: tuple[str, ...], document: Mapping[str, Any]) -> None:
        self._runner = runner
        self._chain = chain
        self._document = document
        self.__name__ = self.__qualname__ = document["name"]
        self.__signature__ = signature_of(document["parameters"], defaults_are_text=True)
        self.__doc__ = f"{self.__name__}{self.__signature__}\n\n{document['description']}".rstrip()

    __name__: str

    @property
    def name(self) -> str:
        return self.__name__

    @property
    def version(self) -> int:
        return self._document["version"]  # type: ignore[no-any-return]

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if is_awaited(sys._getframe(1)):
            return self.call_async(*args, **kwargs)
        return self.call_sync(*args, **kwargs)

    def call_sync(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run it to its end."""
        result = self._function()(*args, **kwargs)
        return self._runner.drive(result) if inspect.iscoroutine(result) else result

    async def call_async(self, /, *args: Any, **kwargs: Any) -> Any:
        """A coroutine that runs it when it is awaited."""
        result = self._function()(*args, **kwargs)
        return (await result) if inspect.isawaitable(result) else result

    def _function(self) -> Callable[..., Any]:
        """`run` of a namespace of its own: nothing stays from one run to the next."""
        chain = (*self._chain, self.__name__)
        if len(chain) > MAX_DEPTH:
            shown = " -> ".join(chain[:6])
            raise RecursionError(f"workflows call each other more than {MAX_DEPTH} deep: {shown} -> …")
        document = self._document
        if document.get("error"):
            raise WorkflowError(f"workflow {self.__name__!r} cannot be run: {document['error']}")
        code = self._runner.code(self.__name__, document["digest"], document["source"])
        module = ModuleType(f"workflow_{self.__name__}")
        module.__dict__.update(self._runner.names, __builtins__=builtins)
        module.__dict__["workflows"] = self._runner.names["workflows"]._below(chain)
        module.__dict__["__file__"] = code.co_filename
        sys.modules[module.__name__] = module  # where dataclasses and the like look
        exec(code, module.__dict__)
        run = module.__dict__.get("run")
        if not callable(run):
            raise WorkflowError(f"workflow {self.__name__!r} has no function called run")
        return run  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<workflow {self.__name__}{self.__signature__}>"


class Workflows:
    """The saved workflows: `workflows.NAME(argument=...)`, plainly or with `await`.

    `list()` and `search(query)` list what there is, `get(name)` also the source. `create(name, source,
    description)` keeps one, whose source defines `run`; `delete(name)` removes it. `invoke(name, ...)` runs
    one by its name.
    """

    def __init__(self, host: Host, runner: Runner, chain: tuple[str, ...] = ()) -> None:
        self.__dict__.update(_host=host, _runner=runner, _chain=chain)

    _host: Host
    _runner: Runner
    _chain: tuple[str, ...]

    def _below(self, chain: tuple[str, ...]) -> Workflows:
        """The same for a workflow that `chain` led to."""
        return Workflows(self._host, self._runner, chain)

    def _find(self, name: str) -> Workflow:
        digest, source = self._runner.known(name)
        document = self._host.blocking("@workflows.find", (name, digest), {})
        if document["source"] is None:  # the host leaves out what is here
            document["source"] = source
        return Workflow(self._runner, self._chain, document)

    def invoke(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Run the workflow of that name with these arguments, plainly or awaited."""
        workflow = self._find(name)
        if is_awaited(sys._getframe(1)):
            return workflow.call_async(*args, **kwargs)
        return workflow.call_sync(*args, **kwargs)

    @operation
    def list(self) -> Steps[Any]:
        """All workflows: name, description, parameters and so on, without their sources."""
        return (yield "@workflows.list", ())

    @operation
    def search(self, query: str, limit: int = 5) -> Steps[Any]:
        """The workflows that fit a query best, with their scores."""
        return (yield "@workflows.search", (query, limit))

    @operation
    def get(self, name: str, version: int | None = None) -> Steps[Any]:
        """All that is known of a workflow, with its source; None when there is none."""
        return (yield "@workflows.get", (name, version))

    @operation
    def create(self, name: str, source: str, description: str = "") -> Steps[Any]:
        """Keep a workflow for this and later sessions; `source` defines `run`, with `def` or `async def`."""
        return (yield "@workflows.create", (name, source, description))

    @operation
    def delete(self, name: str) -> Steps[Any]:
        """Remove a workflow; False when there is none of that name."""
        return (yield "@workflows.delete", (name,))

    def __getattr__(self, name: str) -> Workflow:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self._find(name)
        except LookupError as error:
            # With an object and without a name, Python adds no guess of its own.
            raise AttributeError(str(error), obj=self) from None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"workflows.{name}: workflows are kept with workflows.create({name!r}, source)")

    def __repr__(self) -> str:
        return "<workflows of this session; see workflows.list()>"
