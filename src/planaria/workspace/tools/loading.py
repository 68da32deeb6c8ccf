"""Tools out of YAML texts: every problem with its file and line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from planaria.errors import ToolDefinitionError
from planaria.workspace.tools.names import suggestion
from planaria.workspace.tools.variables import ToolEnvironment

if TYPE_CHECKING:
    from pydantic import ValidationError

    from planaria.workspace.tools.tool import Tool

__all__ = ["DefinitionText", "load_tools"]


@dataclass(frozen=True, slots=True)
class _Kind:
    """A `type` of tools. Its modules are imported when a file has one."""

    definition: str
    """The class of its definitions: a module of this package, and a name."""
    tool: str
    """The class of its tools. They are made of a definition, the environment, and the directory that
    `${TOOL_DIR}` stands for; nothing is started yet. Raises Misfit when the pieces of the definition do not
    fit together.
    """
    needs: str | None = None
    """A module that has to be there for it."""
    extra: str = ""
    """How to install that."""


_KINDS: Final = {
    "cli": _Kind("definition.CommandDefinition", "command.CommandTool"),
    "mcp": _Kind(
        "mcp.McpDefinition",
        "mcp.McpTool",
        "mcp_types",  # the smaller part of the SDK
        "the package mcp, version 2 or newer: pip install 'planaria[mcp]'",
    ),
    "http": _Kind(
        "http.HttpDefinition",
        "http_tool.HttpTool",
        "httpx",
        "the package httpx: pip install 'planaria[http]'",
    ),
}
_LARGEST: Final = 4 << 20
#: Aliases count as often as they are used: a text of a few lines can stand for billions of nodes.
_MOST_NODES: Final = 200_000


class DefinitionText(Protocol):
    """The text of a definition, and what to call it in messages. Storages give such."""

    @property
    def origin(self) -> str: ...
    @property
    def text(self) -> str: ...


@dataclass(frozen=True, slots=True)
class _FileText:
    origin: str
    text: str


def load_tools(
    source: str | PathLike[str] | Iterable[DefinitionText],
    environment: ToolEnvironment | None = None,
    folder: str | PathLike[str] | None = None,
    refusal: Callable[[Tool], str | None] = lambda tool: None,
) -> list[Tool]:
    """The tools of a directory's `*.yaml` and `*.yml`, of one such file, or of texts. Nothing is started.

    `folder` is what `${TOOL_DIR}` stands for in texts; in files, it is the directory they are in. `refusal`
    may tell why a tool is not wanted. Raises ToolDefinitionError with all that is wrong in any of them.
    """
    environment = environment or ToolEnvironment()
    problems: list[str] = []
    texts: list[DefinitionText]
    if isinstance(source, (str, PathLike)):
        texts = list(_read(Path(source), problems))
        folder = source if Path(source).is_dir() else Path(source).parent
    else:
        texts = list(source)
    if texts:
        try:
            import pydantic  # noqa: F401
            import yaml  # noqa: F401
        except ImportError as error:
            raise ImportError(
                "tools in YAML need pydantic and PyYAML: pip install 'planaria[tools]'"
            ) from error
    place = None if folder is None else Path(folder).absolute()
    tools: list[Tool] = []
    origins: dict[str, str] = {}
    for text in texts:
        try:
            tool = _make(text, environment, place)
        except ToolDefinitionError as error:
            problems += [
                problem if problem.startswith(f"{text.origin}:") else f"{text.origin}: {problem}"
                for problem in error.problems
            ]
            continue
        earlier = origins.setdefault(tool.name, text.origin)
        if earlier is not text.origin:
            problems.append(f"{text.origin}: name: there is a tool {tool.name!r} already, in {earlier}")
        elif (why := refusal(tool)) is not None:
            problems.append(f"{text.origin}: name: {why}")
        tools.append(tool)
    if problems:
        raise ToolDefinitionError(problems)
    return tools


def _read(path: Path, problems: list[str]) -> Iterator[DefinitionText]:
    if path.is_dir():
        files = sorted(
            one for one in path.iterdir() if one.suffix in (".yaml", ".yml") and one.name[0] != "."
        )
    elif path.exists():
        files = [path]
    else:
        raise ToolDefinitionError(f"{path}: there is no such directory or file")
    for file in files:
        try:
            if file.stat().st_size > _LARGEST:
                raise ValueError(f"larger than {_LARGEST} bytes")
            yield _FileText(str(file), file.read_text("utf-8-sig"))
        except (OSError, ValueError) as error:
            problems.append(f"{file}: {error}")


def _make(text: DefinitionText, environment: ToolEnvironment, folder: Path | None) -> Tool:
    """The tool of a text. Raises ToolDefinitionError, origin and line in front of its problems."""
    import yaml
    from pydantic import ValidationError

    from planaria.workspace.tools.definition import Misfit

    if len(text.text) > _LARGEST:
        raise ToolDefinitionError(f"longer than {_LARGEST} characters")
    try:
        loader = yaml.SafeLoader(text.text)
        root = loader.get_single_node()
        repeated = list(_check(root))
        document = loader.construct_document(root) if root is not None and not repeated else None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else f":{mark.line + 1}"
        said = getattr(error, "problem", None) or getattr(error, "reason", None) or error
        raise ToolDefinitionError(f"{text.origin}{line}: not YAML: {said}") from None
    except (RecursionError, ValueError) as error:
        raise ToolDefinitionError(f"{text.origin}: not usable YAML: {error}") from None
    if repeated:
        raise ToolDefinitionError([f"{text.origin}:{line}: {problem}" for line, problem in repeated])
    if not isinstance(document, Mapping):
        raise ToolDefinitionError(f"{text.origin}:1: expected a mapping with 'name' and the rest")
    kind = document.get("type", "cli")
    if kind not in _KINDS:
        where = f"{text.origin}:{_line(root, ('type',))}: type"
        raise ToolDefinitionError(f"{where}: {kind!r} is not a type of tool{suggestion(str(kind), _KINDS)}")
    chosen = _KINDS[kind]
    try:
        definition = _class(chosen.definition).model_validate(document)
        if chosen.needs is not None and find_spec(chosen.needs) is None:
            raise ToolDefinitionError(f"type: {kind} needs {chosen.extra}")
        tool: Tool = _class(chosen.tool)(definition, environment, folder)
        return tool
    except Misfit as error:
        found = [(_line(root, place), ".".join(map(str, place)), message) for place, message in error.found]
        problems = [f"{text.origin}:{line}: {where}: {message}" for line, where, message in found]
        raise ToolDefinitionError(problems) from None
    except ValidationError as error:
        reported = sorted(_problems(error, root), key=lambda one: one[0])
        problems = [f"{text.origin}:{line}: {problem}" for line, problem in reported]
        raise ToolDefinitionError(problems) from None


def _class(name: str) -> Any:
    """A class of this package, by its module and name."""
    module, _, name = name.partition(".")
    return getattr(import_module(f"planaria.workspace.tools.{module}"), name)


def _check(root: Any) -> Iterator[tuple[int, str]]:
    """Keys that come twice; all keys are made text on the way: an option may be called `no` or `1`."""
    import yaml

    count = 0
    rest = [root] if root is not None else []
    while rest:
        node = rest.pop()
        count += 1
        if count > _MOST_NODES:
            raise ValueError(f"it expands to more than {_MOST_NODES} values")
        if isinstance(node, yaml.SequenceNode):
            rest += node.value
        elif isinstance(node, yaml.MappingNode):
            seen = set()
            for key, value in node.value:
                rest.append(value)
                if not isinstance(key, yaml.ScalarNode):
                    yield key.start_mark.line + 1, "a key is a plain text"
                    continue
                if key.tag == "tag:yaml.org,2002:merge":
                    continue
                key.tag = "tag:yaml.org,2002:str"
                if key.value in seen:
                    yield key.start_mark.line + 1, f"{key.value!r} is there already"
                seen.add(key.value)


def _problems(error: ValidationError, root: Any) -> Iterator[tuple[int, str]]:
    """What a model says of a document, with its lines."""
    for one in error.errors(include_url=False):
        place = one["loc"]
        message = one["msg"]
        if one["type"] == "unknown_key":
            place = (*place, one["ctx"]["key"])
        elif one["type"] == "missing":
            message = "is missing"
        elif one["type"] == "value_error":
            message = str(one["ctx"]["error"])
        where = ".".join(map(str, place))
        yield _line(root, place), f"{where}: {message}" if where else message


def _line(node: Any, place: Sequence[int | str]) -> int:
    """The line of the value at a place of a document, or of what is nearest to it."""
    import yaml

    line: int = node.start_mark.line
    for step in place:
        if isinstance(node, yaml.MappingNode):
            found = next((pair for pair in node.value if pair[0].value == step), None)
            if found is None:
                break
            line, node = found[0].start_mark.line, found[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line
        else:
            break
    return line + 1
