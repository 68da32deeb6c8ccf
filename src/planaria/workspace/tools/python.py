"""Python functions and objects of the host as tools."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from planaria.errors import ToolArgumentError, ToolDefinitionError
from planaria.workspace.tools.docstrings import read_docstring
from planaria.workspace.tools.names import identifier, shown, suggestion
from planaria.workspace.tools.tool import Tool, ToolCallable, ToolParameter

__all__ = ["PythonTool", "python_tool"]


class PythonTool(Tool):
    """Functions of the host under one name.

    Arguments are checked, and converted, by the functions' annotations; those that cannot be resolved take
    anything. What a function returns comes as it is: an `async` one gives an awaitable. What it raises comes
    as it is, too.
    """

    def __init__(
        self,
        name: str,
        functions: Mapping[str, Callable[..., Any]],
        description: str = "",
        tags: Iterable[str] = (),
    ) -> None:
        super().__init__(name, description, tags)
        self._functions: dict[str | None, _Function] = {}
        for key, function in functions.items():
            try:
                known = identifier(key)
            except ValueError as error:
                raise ToolDefinitionError(f"tool {name!r}: {error}") from None
            title = self.name if known == self.name else f"{self.name}.{known}"
            self._functions[known] = _Function(known, title, function)
        if not self._functions:
            raise ToolDefinitionError(f"tool {name!r} has no functions: its object has no public methods")
        self._shown = tuple(function.shown for function in self._functions.values())
        if self.name in self._functions:
            self._functions[None] = self._functions[self.name]

    @property
    def callables(self) -> tuple[ToolCallable, ...]:
        return self._shown

    def call(self, callable: str | None, arguments: Mapping[str, Any]) -> Any:  # noqa: A002
        """Check the arguments and call the function."""
        function = self._functions.get(callable)
        if function is None:
            function = self._functions[self.find(callable).name]
        return function(arguments)


class _Function:
    """A function, what is known of its parameters, and how they are checked."""

    __slots__ = (
        "_any",
        "_call",
        "_each",
        "_leading",
        "_positional",
        "_required",
        "_rest",
        "_title",
        "_undefault",
        "_validators",
        "shown",
    )

    def __init__(self, name: str, title: str, function: Callable[..., Any]) -> None:
        from planaria.workspace.tools import annotations

        self._call = function
        self._title = title
        self._validators: dict[str, Callable[[Any], Any] | None] = {}
        #: Parameters that can only be given by their place.
        self._leading: list[str] = []
        #: Those that can be given by their place, in order.
        self._positional: list[str] = []
        #: The parameter `*name`, with its star.
        self._rest: str | None = None
        #: What checks each value of `*name` and of `**name`, by these names.
        self._each: dict[str, Callable[[Any], Any] | None] = {}
        #: Those whose default cannot be shown: None stands for it.
        self._undefault: set[str] = set()
        required: list[str] = []
        signature = annotations.signature_of(function)
        #: Any keyword is taken.
        self._any = signature is None
        description, said = read_docstring(inspect.getdoc(function))
        hints = {} if signature is None else annotations.resolve_annotations(function, signature)
        shown: list[ToolParameter] = []
        for parameter in () if signature is None else signature.parameters.values():
            hint = hints.get(parameter.name, Any)
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                stars = "**" if parameter.kind is parameter.VAR_KEYWORD else "*"
                self._any = self._any or stars == "**"
                self._rest = self._rest if stars == "**" else f"*{parameter.name}"
                self._each[stars] = annotations.validator_of(hint)
                text = annotations.described_by(hint) or said.get(parameter.name, "")
                shown.append(
                    ToolParameter(stars + parameter.name, annotations.annotation_text(hint), description=text)
                )
                continue
            if parameter.kind is not parameter.KEYWORD_ONLY:
                self._positional.append(parameter.name)
            self._validators[parameter.name] = annotations.validator_of(hint)
            if parameter.kind is parameter.POSITIONAL_ONLY:
                self._leading.append(parameter.name)
            is_required = parameter.default is parameter.empty
            default = None
            if is_required:
                required.append(parameter.name)
            elif _is_plain(parameter.default):
                default = parameter.default
            else:
                self._undefault.add(parameter.name)
            text = annotations.described_by(hint) or said.get(parameter.name, "")
            shown.append(
                ToolParameter(parameter.name, annotations.annotation_text(hint), is_required, default, text)
            )
        self._required = frozenset(required)
        returns = annotations.annotation_text(hints["return"]) if "return" in hints else "Any"
        self.shown = ToolCallable(name, description, tuple(shown), returns)

    def __call__(self, arguments: Mapping[str, Any]) -> Any:
        validators = self._validators
        given = {}
        rest: list[Any] = []
        for name, value in arguments.items():
            if name == self._rest:
                rest = self._checked_rest(name, value)
                continue
            validator = validators.get(name) if name in validators else self._each.get("**")
            if validator is not None and (value is not None or name not in self._undefault):
                try:
                    value = validator(value)
                except ValueError as error:
                    raise self._misfit(name, error) from None
            elif name not in validators and not self._any:
                what = suggestion(name, validators) or "; it takes none"
                raise ToolArgumentError(f"{self._title}() has no parameter {shown(name)}{what}")
            given[name] = value
        if not self._required <= given.keys():
            missing = [name for name in validators if name in self._required and name not in given]
            raise ToolArgumentError(f"{self._title}() needs {', '.join(missing)}")
        if self._undefault:
            for name in self._undefault:
                if given.get(name, self) is None:
                    del given[name]
        if rest:
            missing = [name for name in self._positional if name not in given]
            if missing:
                raise ToolArgumentError(f"{self._title}() needs {', '.join(missing)} before {self._rest}")
            return self._call(*(given.pop(name) for name in self._positional), *rest, **given)
        if not self._leading:
            return self._call(**given)
        leading = []
        for name in self._leading:
            if name not in given:
                break
            leading.append(given.pop(name))
        stray = [name for name in self._leading if name in given]
        if stray:
            raise ToolArgumentError(f"{self._title}() accepts {stray[0]!r} only after the ones before it")
        return self._call(*leading, **given)

    def _checked_rest(self, name: str, values: Any) -> list[Any]:
        if not isinstance(values, (list, tuple)):
            raise ToolArgumentError(f"{self._title}(): {name} is a list, not {type(values).__name__}")
        validator = self._each["*"]
        if validator is None:
            return list(values)
        try:
            return [validator(value) for value in values]
        except ValueError as error:
            raise self._misfit(name, error) from None

    def _misfit(self, name: str, error: ValueError) -> ToolArgumentError:
        """What pydantic says of a value, in one line for each thing."""
        said = []
        for one in error.errors(include_url=False):  # type: ignore[attr-defined]
            where = ".".join([name, *map(str, one["loc"])])
            said.append(f"{where}: {one['msg']}")
        return ToolArgumentError(f"{self._title}(): {'; '.join(said)}")


def python_tool(
    target: object, *, name: str | None = None, description: str | None = None, tags: Iterable[str] = ()
) -> PythonTool:
    """A tool of a function, or of an object's or a module's public functions.

    An object of a class `WebSearch` is called `web_search` if nothing else is said; one that can be called
    itself is a function besides. Raises ToolDefinitionError when nothing can be made of it.
    """
    try:
        import docstring_parser  # noqa: F401
        import pydantic  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "tools of functions need pydantic and docstring-parser: pip install 'planaria[tools]'"
        ) from error
    if inspect.isclass(target):
        raise ToolDefinitionError(f"a tool is a function or an object; make one: {target.__name__}(...)")
    is_function = inspect.isroutine(target) or isinstance(target, functools.partial)
    if name is None:
        name = getattr(target, "__name__", "").rpartition(".")[2]
        if not name and not is_function:
            name = re.sub(
                r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", type(target).__name__
            ).lower()
        if not name or not name.isidentifier():
            raise ToolDefinitionError(f"a tool of {target!r} needs a name: add(..., name='...')")
    functions: dict[str, Callable[..., Any]]
    if is_function:
        assert callable(target)
        functions = {name: target}
    else:
        is_value = type(target).__module__ == "builtins" and not isinstance(target, ModuleType)
        functions = {} if is_value else dict(_public(target))
        if callable(target):
            functions = {name: target, **functions}
        if not functions:
            raise ToolDefinitionError(
                f"a tool is a function, or an object with public methods, not {type(target).__name__}"
            )
    if description is None:
        described = target if is_function or isinstance(target, ModuleType) else type(target)
        description, _ = read_docstring(inspect.getdoc(described))
    return PythonTool(name, functions, description, tags)


def _public(target: object) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public functions of a module, or methods of an object, in order; properties are not looked into."""
    if isinstance(target, ModuleType):
        listed = getattr(target, "__all__", None)
        for name, value in vars(target).items():
            is_own = getattr(value, "__module__", None) == target.__name__
            if inspect.isroutine(value) and (
                name in listed if listed is not None else is_own and name[0] != "_"
            ):
                yield name, value
        return
    names: dict[str, None] = {}
    for cls in reversed(type(target).__mro__[:-1]):
        names.update(dict.fromkeys(vars(cls)))
    names.update(dict.fromkeys(getattr(target, "__dict__", {})))
    for name in names:
        if not name.startswith("_") and inspect.isroutine(inspect.getattr_static(target, name)):
            yield name, getattr(target, name)


def _is_plain(value: Any) -> bool:
    """Whether a default can be shown, and sent, as it is."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return type(value).__module__ == "builtins"
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(one) for key, one in value.items())
    return False
