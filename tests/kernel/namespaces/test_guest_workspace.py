"""The namespaces of a workspace in a kernel, with a host of a few lines."""

from __future__ import annotations

import pydoc
from collections.abc import Callable
from typing import Any

import pytest

from planaria_kernel.errors import ToolNotFound, WorkflowNotFound

GET = {
    "name": "get",
    "description": "Fetch a page.",
    "parameters": [
        {"name": "url", "type": "str", "required": True, "default": None, "description": "where it is"},
        {"name": "retries", "type": "int", "required": False, "default": 3, "description": ""},
    ],
    "returns": "str",
}
ADD = {
    "name": "add",
    "description": "Add numbers.",
    "parameters": [
        {"name": "a", "type": "int", "required": True, "default": None, "description": ""},
        {"name": "b", "type": "int", "required": False, "default": 1, "description": ""},
    ],
    "returns": "int",
}
TOOLS: dict[str, dict[str, Any]] = {
    "curl": {"name": "curl", "description": "Transfers.", "tags": ["net"], "callables": [GET]},
    "add": {"name": "add", "description": "Add numbers.", "tags": [], "callables": [ADD]},
    "late": {"name": "late", "description": "Came later.", "tags": [], "callables": []},
}


class Space:
    """The host's side: tools that tell how they were called, workflows and artifacts in dicts."""

    def __init__(self, host: Any) -> None:
        self.host = host
        self.asked: list[str] = []
        self.sources: dict[str, str] = {}
        self.sent: list[str] = []
        self.artifacts: dict[str, tuple[str, bytes]] = {}
        self.streams: dict[int, Any] = {}
        functions: dict[str, Callable[..., Any]] = {
            "@tools.call": self.call,
            "@tools.describe": self.describe,
            "@tools.list": lambda: list(TOOLS.values()),
            "@tools.search": lambda query, limit: [query, limit],
            "@workflows.find": self.find,
            "@artifacts.save": self.save,
            "@artifacts.begin": self.begin,
            "@artifacts.write": lambda number, data: self.streams[number].append(data),
            "@artifacts.commit": self.commit,
            "@artifacts.open": self.open,
            "@artifacts.read": self.read,
            "@artifacts.get": lambda name: {"name": name} if name in self.artifacts else None,
            "@deps.add": lambda package: ({"installed": [package]}, ["/made/of/packages"]),
        }
        for name, function in functions.items():
            host.functions[name] = self._counted(name, function)
        settings = {"tools": {"curl": "Transfers.", "add": "Add numbers."}}
        assert host.send("configure", {"workspace": settings}) == ("done", {})

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            self.asked.append(name)
            return function(*args)

        return call

    @staticmethod
    def call(tool: str, function: str | None, arguments: dict[str, Any]) -> Any:
        if tool == "add":
            return arguments["a"] + arguments.get("b", 1)
        return [tool, function, arguments]

    @staticmethod
    def describe(name: str) -> dict[str, Any]:
        if name not in TOOLS:
            raise ToolNotFound(f"there is no tool {name!r}")
        return TOOLS[name]

    def find(self, name: str, known: str | None) -> dict[str, Any]:
        source = self.sources.get(name)
        if source is None:
            raise WorkflowNotFound(f"there is no workflow {name!r}; did you mean another?")
        digest = str(hash(source))
        self.sent.append(name if digest != known else "-")
        parameters = [
            {"name": "x", "type": "int", "required": True, "default": None},
            {"name": "*rest", "type": None, "required": False, "default": None},
            {"name": "flag", "type": None, "required": False, "default": "not x"},
        ]
        return {
            "name": name,
            "description": "What it does.",
            "parameters": parameters,
            "version": 1,
            "digest": digest,
            "error": None,
            "source": None if digest == known else source,
        }

    def save(self, name: str, kind: str, data: bytes, description: str, metadata: Any) -> dict[str, Any]:
        self.artifacts[name] = (kind, data)
        return {"name": name, "description": description, "metadata": metadata}

    def begin(self, name: str, kind: str, description: str, metadata: Any) -> int:
        number = len(self.streams)
        self.streams[number] = [name, kind]
        return number

    def commit(self, number: int) -> dict[str, Any]:
        name, kind, *pieces = self.streams.pop(number)
        return self.save(name, kind, b"".join(pieces), "", None)

    def open(self, name: str, size: int) -> tuple[str, bytes, int | None]:
        kind, data = self.artifacts[name]
        if len(data) < size:
            return kind, data, None
        self.streams[7] = data[size:]
        return kind, data[:size], 7

    def read(self, number: int, size: int) -> bytes:
        piece = self.streams[number][:size]
        self.streams[number] = self.streams[number][size:]
        return bytes(piece)


@pytest.fixture
def space(host: Any) -> Space:
    return Space(host)


# -- tools -------------------------------------------------------------------------------------------------


def test_tool_call(host: Any, space: Space) -> None:
    """A tool is called by itself or by one of its functions, with keywords or in order."""
    assert host.value("tools.add(a=1, b=2)") == 3
    assert host.value("tools.add(4)") == 5
    assert host.value("tools.add.call_sync(4, b=4)") == 8
    assert host.value("tools.curl.get(url='x')") == ["curl", "get", {"url": "x"}]
    assert host.value("tools.curl.get('x', retries=1)") == ["curl", "get", {"url": "x", "retries": 1}]


def test_tool_call_awaited(host: Any, space: Space) -> None:
    """An awaited call parks; several of them, made with call_async, are open at once."""
    report = host.run("await tools.add(a=1, b=2)")
    assert report[0] == "waiting"
    assert [call[1:] for call in report[1]] == [("@tools.call", ("add", None, {"a": 1, "b": 2}), {})]
    assert host.value_of(host.finish(report)) == 3
    report = host.run("import asyncio\nawait asyncio.gather(*[tools.add.call_async(a=i) for i in range(5)])")
    assert len(report[1]) == 5
    assert host.value_of(host.finish(report)) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "code",
    [
        "await asyncio.gather(tools.add(4), tools.add(4))",
        "await asyncio.wait_for(tools.add(4), 1)",
        "await asyncio.shield(tools.add(4))",
        "await asyncio.wait([tools.add(4)])",
        "asyncio.create_task(tools.add(4))",
        "asyncio.ensure_future(tools.add(4))",
        "asyncio.run(tools.add(4))",
        "given = tools.add(4)\nawait given",
    ],
)
def test_awaiting_the_value_of_a_tool_names_call_async(host: Any, space: Space, code: str) -> None:
    """A call that is not awaited on the spot gives its value; awaiting that is an error which says what to call."""
    assert "call_async(...)" in host.error(f"import asyncio\n{code}")["message"]


def test_one_call_of_the_host(host: Any, space: Space) -> None:
    """Calling a tool by keywords asks the host once; what its functions are is asked once and kept."""
    host.value("tools.add(a=1)")
    assert space.asked == ["@tools.call"]
    host.value("for _ in range(3): tools.curl.get(url='x')")
    assert space.asked[1:] == ["@tools.describe", *["@tools.call"] * 3]


def test_tool_arguments(host: Any, space: Space) -> None:
    """Too many arguments, and one that is given twice, are refused with the signature."""
    assert "takes 2 arguments but 3" in host.error("tools.curl.get(1, 2, 3)")["message"]
    assert "curl.get(url: str, retries: int = 3)" in host.error("tools.curl.get(1, 2, 3)")["message"]
    assert "more than one value for url" in host.error("tools.curl.get('x', url='y')")["message"]


def test_unknown_tools(host: Any, space: Space) -> None:
    """An unknown tool or function is an AttributeError with a suggestion, so hasattr says what there is."""
    error = host.error("tools.curl.gett")
    assert (error["type"], error["message"]) == (
        "AttributeError",
        "tool 'curl' has no 'gett'; did you mean 'get'?",
    )
    assert host.error("tools.nothing")["type"] == "AttributeError"
    assert host.value("hasattr(tools, 'curl'), hasattr(tools, 'nothing'), hasattr(tools.curl, 'get')") == (
        True,
        False,
        True,
    )


def test_tools_that_come_later(host: Any, space: Space) -> None:
    """A tool that the kernel does not know is looked up."""
    assert host.value("repr(tools.late)") == "<tool late: Came later.>"
    assert "late" in host.value("dir(tools)")


def test_listing_tools(host: Any, space: Space) -> None:
    """list() and search() give what the host gives; dir() names tools and functions."""
    assert [one["name"] for one in host.value("tools.list()")] == ["curl", "add", "late"]
    assert host.value("tools.search('pages', limit=2)") == ["pages", 2]
    assert host.value_of(host.finish(host.run("await tools.search('pages')"))) == ["pages", 10]
    assert host.value("dir(tools)") == ["add", "curl", "late", "list", "search"]
    assert host.value("dir(tools.curl)") == ["call_async", "call_sync", "get"]


def test_help(host: Any, space: Space) -> None:
    """help(tools.NAME) shows what the tool is for, and how each of its functions is called."""
    text = pydoc.plain(pydoc.render_doc(host.kernel.names["tools"].curl))
    assert "Transfers." in text
    assert "tools.curl.get(url: str, retries: int = 3)" in text
    assert "Fetch a page." in text
    assert "url: where it is" in text
    assert (
        host.value("import inspect; str(inspect.signature(tools.curl.get))") == "(url: str, retries: int = 3)"
    )


def test_tools_cannot_be_set(host: Any, space: Space) -> None:
    """Code cannot put another tool in the place of one."""
    assert "code cannot set them" in host.error("tools.curl = print")["message"]


def test_completion(host: Any, space: Space) -> None:
    """Tools complete, and their functions once they are known; completing asks the host nothing."""
    assert host.send("complete", "tools.cu", 8)[1]["matches"] == ["curl"]
    assert space.asked == []
    host.value("tools.curl.get")
    assert host.send("complete", "tools.curl.ge", 13)[1]["matches"] == ["get"]
    assert "retries=" in host.send("complete", "tools.curl.get(re", 17)[1]["matches"]


def test_rebinding(host: Any, space: Space) -> None:
    """Rebinding a name, also in builtins, lasts until the variables are cleared."""
    host.run("import builtins\ntools = 1\nbuiltins.workflows = 2")
    assert host.value("tools, workflows") == (1, 2)
    host.send("clear")
    assert host.value("type(tools).__name__, type(workflows).__name__") == ("Tools", "Workflows")


def test_no_workspace(host: Any, space: Space) -> None:
    """The names go when the host says that there is no workspace."""
    host.send("configure", {"workspace": None})
    assert host.error("tools")["type"] == "NameError"


# -- workflows ---------------------------------------------------------------------------------------------


def test_workflow(host: Any, space: Space) -> None:
    """A workflow is run by its name, plainly or awaited, whether its run is async or not."""
    space.sources["plain"] = "def run(x, *rest, flag=False):\n    return tools.add(a=x)\n"
    space.sources["waiting"] = "async def run(x):\n    return await tools.add(a=x)\n"
    for name in ("plain", "waiting"):
        assert host.value(f"workflows.{name}(x=1)") == 2
        assert host.value(f"workflows.invoke({name!r}, x=2)") == 3
        assert host.value(f"workflows.{name}.call_sync(3)") == 4
        assert host.value_of(host.finish(host.run(f"await workflows.{name}(4)"))) == 5
        report = host.run(f"import asyncio\nawait asyncio.gather(workflows.{name}.call_async(5))")
        assert host.value_of(host.finish(report)) == [6]


def test_workflow_parks(host: Any, space: Space) -> None:
    """An awaited workflow parks where it awaits a tool."""
    space.sources["waiting"] = "async def run(x):\n    return await tools.add(a=x)\n"
    report = host.run("await workflows.waiting(1)")
    assert (report[0], report[1][0][1]) == ("waiting", "@tools.call")
    assert host.value_of(host.finish(report)) == 2


def test_async_workflow_while_a_loop_runs(host: Any, space: Space) -> None:
    """A plain call of an async workflow comes to its end also within a running loop, which goes on."""
    space.sources["waiting"] = "import asyncio\nasync def run(x):\n    await asyncio.sleep(0)\n    return x\n"
    report = host.run(
        "import asyncio\n"
        "async def main():\n"
        "    task = asyncio.current_task()\n"
        "    found = workflows.waiting(1)\n"
        "    await asyncio.sleep(0)\n"
        "    return found, asyncio.current_task() is task\n"
        "await main()"
    )
    assert host.value_of(host.finish(report)) == (1, True)


def test_sources_are_sent_once(host: Any, space: Space) -> None:
    """The source of a workflow is sent again only when it has changed."""
    space.sources["f"] = "def run(x): return x\n"
    assert host.value("workflows.f(1), workflows.f(2)") == (1, 2)
    assert space.sent == ["f", "-"]
    host.run("kept = workflows.f")
    space.sources["f"] = "def run(x): return -x\n"
    assert host.value("workflows.f(1), kept(1), workflows.f(2)") == (-1, 1, -2)


def test_nothing_stays(host: Any, space: Space) -> None:
    """Each run of a workflow has a namespace of its own, which is not that of the cells."""
    space.sources["f"] = "seen = []\ndef run(x):\n    seen.append(x)\n    return seen, 'y' in globals()\n"
    host.run("y = 1")
    assert host.value("workflows.f(1), workflows.f(2)") == (([1], False), ([2], False))
    assert host.error("seen")["type"] == "NameError"


def test_workflow_rebinding(host: Any, space: Space) -> None:
    """What cells bind to the names does not reach workflows."""
    space.sources["f"] = "def run(x): return tools.add(a=x)\n"
    assert host.value("tools = None\nworkflows.f(1)") == 2


def test_workflow_dataclass(host: Any, space: Space) -> None:
    """A workflow may define dataclasses whose annotations are texts."""
    space.sources["f"] = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Point:\n    x: int\ndef run(x): return Point(x).x\n"
    )
    assert host.value("workflows.f(3)") == 3


def test_workflow_error(host: Any, space: Space) -> None:
    """An exception of a workflow shows the frames of the workflow, with its lines."""
    space.sources["broken"] = "def run(x):\n    y = 0\n    return x / y\n"
    error = host.error("workflows.broken(1)")
    assert error["type"] == "ZeroDivisionError"
    assert 'File "<workflow broken>", line 3, in run\n    return x / y' in error["traceback"]
    assert "planaria" not in error["traceback"]


def test_workflows_that_cannot_run(host: Any, space: Space) -> None:
    """A source that does not compile, one without run, and an unknown name say so."""
    space.sources["syntax"] = "def run(x:\n"
    space.sources["empty"] = "x = 1\n"
    assert host.error("workflows.syntax(1)")["type"] == "SyntaxError"
    assert "has no function called run" in host.error("workflows.empty(1)")["message"]
    error = host.error("workflows.nothing")
    assert (error["type"], error["message"]) == (
        "AttributeError",
        "there is no workflow 'nothing'; did you mean another?",
    )
    assert host.error("workflows.invoke('nothing')")["type"] == "WorkflowNotFound"


@pytest.mark.parametrize("form", ["def run(x): return", "async def run(x): return await"])
def test_recursion(host: Any, space: Space, form: str) -> None:
    """Workflows may call each other, and end with a clear error when that is without end."""
    space.sources["even"] = f"{form} True if x == 0 else workflows.odd(x - 1)\n".replace(
        "await True if x == 0 else", "True if x == 0 else await"
    )
    space.sources["odd"] = f"{form} False if x == 0 else workflows.even(x - 1)\n".replace(
        "await False if x == 0 else", "False if x == 0 else await"
    )
    assert host.value("workflows.even(7), workflows.even(30)") == (False, True)
    error = host.error("workflows.even(40)")
    assert error["type"] == "RecursionError"
    assert error["message"] == (
        "workflows call each other more than 32 deep: even -> odd -> even -> odd -> even -> odd -> …"
    )


def test_workflow_help(host: Any, space: Space) -> None:
    """A workflow has the signature and the docstring of its run."""
    space.sources["f"] = "def run(x, *rest, flag=True): ..."
    assert host.value("workflows.f.__doc__") == "f(x: int, *rest, flag=not x)\n\nWhat it does."


# -- artifacts and packages --------------------------------------------------------------------------------

VALUES = [
    ({"a": [1, 2.5, None, True, "x"]}, "json"),
    ((1, 2), "value"),
    ([(1,)], "value"),
    ({1: 2}, "value"),
    (10**5000, "value"),
    (float("inf"), "value"),
    ("text ✓", "text"),
    ("\ud800", "value"),
    (b"bytes", "bytes"),
    ({"x", "y"}, "value"),
    (None, "json"),
]


@pytest.mark.parametrize(("data", "kind"), VALUES, ids=[str(n) for n in range(len(VALUES))])
def test_artifact(host: Any, space: Space, data: Any, kind: str) -> None:
    """An artifact comes back as what it was saved; JSON, text and bytes are kept as such."""
    host.kernel.main.__dict__["data"] = data
    assert host.value("artifacts.save('a', data, 'what', {'k': 1})")["description"] == "what"
    assert space.artifacts["a"][0] == kind
    found = host.value("found = artifacts.load('a')\nfound == data, type(found) is type(data)")
    assert found == (True, True)
    assert host.value("artifacts.exists('a'), artifacts.exists('b'), artifacts.get('b')") == (
        True,
        False,
        None,
    )


@pytest.mark.parametrize("size", [(4 << 20) - 1, 4 << 20, (4 << 20) + 1, 9 << 20])
def test_large_artifact(host: Any, space: Space, size: int) -> None:
    """A large artifact crosses in pieces, and comes back whole, plainly and awaited."""
    host.kernel.main.__dict__["data"] = bytes(size)
    host.value("artifacts.save('a', data)")
    assert ("@artifacts.begin" in space.asked) == (size > 4 << 20)
    assert len(space.artifacts["a"][1]) == size
    assert host.value("artifacts.load('a') == data")
    report = host.finish(host.run("await artifacts.save('b', data)\nawait artifacts.load('b') == data"))
    assert host.value_of(report)


def test_what_cannot_be_kept(host: Any, space: Space) -> None:
    """An object that has no form outside its process is an ArtifactError, before anything is sent."""
    error = host.error("artifacts.save('a', object())")
    assert error["type"] == "ArtifactError"
    assert space.asked == []


def test_dependencies(host: Any, space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a change of the packages, modules are looked for where the host says."""
    import sys

    monkeypatch.setattr(sys, "path", list(sys.path))
    assert host.value("deps.add('six')") == {"installed": ["six"]}
    assert sys.path[-1] == "/made/of/packages"
    host.value("deps.add('six')")
    assert sys.path.count("/made/of/packages") == 1
