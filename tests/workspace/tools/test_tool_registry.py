"""The registry: names, scopes, records of calls, middleware and approvals."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import wait

from planaria import (
    Suspend,
    Tool,
    ToolArgumentError,
    ToolCall,
    ToolCallable,
    ToolCallError,
    ToolDefinitionError,
    ToolDenied,
    ToolMiddleware,
    ToolNotFound,
    ToolRegistry,
)
from planaria.workspace.tools.middleware import asks_approval

#: A tool, a function of it or None, and arguments.
Call = tuple[str, str | None, dict[str, Any]]


def double(number: int) -> int:
    """Twice a number."""
    return number * 2


async def later(number: int) -> int:
    await asyncio.sleep(0)
    return number + 1


def fail() -> None:
    raise KeyError("nothing there")


@pytest.fixture
def registry() -> ToolRegistry:
    tools = ToolRegistry()
    tools.add(double, tags=["math", "safe"])
    tools.add(later, tags=["math"])
    tools.add(fail, name="always-fails", tags=["broken"])
    return tools


def test_plain_function_gives_its_value_at_once(registry: ToolRegistry) -> None:
    """Calling a plain function gives its value, and an asynchronous one an awaitable."""
    assert registry.call("double", None, {"number": 4}) == 8
    assert registry.call("double", "double", {"number": 4}) == 8
    assert wait(registry.call("later", None, {"number": 4})) == 5


def test_tools_are_listed_by_name(registry: ToolRegistry) -> None:
    """The list has dicts with names, descriptions, sorted tags and callables, ordered by name."""
    listed = registry.list()
    assert [tool["name"] for tool in listed] == ["always_fails", "double", "later"]
    assert listed[1]["tags"] == ["math", "safe"]
    assert listed[1]["callables"][0]["parameters"][0]["name"] == "number"
    assert len(registry) == 3


def test_names_with_dashes_are_known_both_ways(registry: ToolRegistry) -> None:
    """A tool named with dashes is called by its identifier and by its name."""
    assert "always-fails" in registry
    for name in ("always-fails", "always_fails"):
        assert registry.get(name).alias == "always-fails"
        with pytest.raises(KeyError, match="nothing there"):
            registry.call(name, None, {})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("double", "there is a tool 'double' already$"),
        ("always.fails", "there is a tool 'always-fails' already; 'always.fails' is the same name in code"),
        ("list", r"a tool cannot be called 'list': tools.list\(\) is taken"),
        ("search", r"tools.search\(\) is taken"),
        ("__class__", "cannot be a name in Python code"),
        ("größe!", "cannot be a name in Python code"),
        ("", "cannot be a name in Python code"),
    ],
)
def test_names_that_collide_or_are_none_are_refused(registry: ToolRegistry, name: str, message: str) -> None:
    """A name that is taken, reserved or cannot be written in code is refused when the tool is added."""
    with pytest.raises(ToolDefinitionError, match=message):
        registry.add(double, name=name)


def test_keywords_and_digits_make_names(registry: ToolRegistry) -> None:
    """A name that is a keyword gets an underscore behind it, one that begins with a digit in front."""
    assert registry.add(double, name="import").name == "import_"
    assert registry.add(double, name="7zip").name == "_7zip"
    assert registry.add(double, name="\N{LATIN SMALL LIGATURE FI}nd").name == "find"
    assert registry.call("import", None, {"number": 1}) == registry.call("7zip", None, {"number": 1}) == 2


def test_unknown_names_get_a_suggestion(registry: ToolRegistry) -> None:
    """A tool or callable that does not exist is reported with the nearest name."""
    with pytest.raises(ToolNotFound, match="there is no tool 'duoble'; did you mean 'double'"):
        registry.call("duoble", None, {})
    with pytest.raises(ToolNotFound, match="tool 'double' has no 'twice'; there is 'double'"):
        registry.call("double", "twice", {})
    with pytest.raises(LookupError):
        registry.get("__init__")


def test_removed_tool_is_closed_and_gone(registry: ToolRegistry) -> None:
    """Removing closes the tool; removing one that is not there says so."""
    closed: list[str] = []

    class Closing(Tool):
        callables = (ToolCallable("one"),)

        def call(self, callable: str | None, arguments: Any) -> Any: ...  # noqa: A002

        def close(self) -> None:
            closed.append(self.name)
            if self.name == "worst":
                raise OSError("no")

    for name in ("first", "worst", "last"):
        registry.add(Closing(name))
    assert registry.remove("first")
    assert not registry.remove("first")
    assert closed == ["first"]
    with pytest.raises(OSError, match="no"):
        registry.close()
    assert sorted(closed) == ["first", "last", "worst"]
    assert len(registry) == 0
    registry.close()


def test_registry_is_closed_by_with() -> None:
    """A registry in a `with` statement is closed at its end."""
    with ToolRegistry([double]) as tools:
        assert len(tools) == 1
    assert len(tools) == 0


@pytest.mark.parametrize(("module", "packages"), [("yaml", "PyYAML"), ("pydantic", "pydantic")])
def test_missing_extra_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str, packages: str
) -> None:
    """Without the packages of the extra, loading a definition and adding say what to install; a folder without any loads."""
    monkeypatch.setitem(sys.modules, module, None)
    ToolRegistry().load(tmp_path)
    (tmp_path / "one.yaml").write_text("name: one\n", "utf-8")
    with pytest.raises(ImportError, match=rf"{packages}.*: pip install 'planaria\[tools\]'"):
        ToolRegistry().load(tmp_path)
    if module == "pydantic":
        with pytest.raises(ImportError, match=r"pip install 'planaria\[tools\]'"):
            ToolRegistry([double])


@pytest.mark.parametrize("module", ["pydantic", "docstring_parser"])
def test_missing_extra_of_functions(module: str) -> None:
    """In an environment without a package of the extra, a workspace with functions says what to install."""
    program = (
        "import sys; sys.modules[sys.argv[1]] = None\n"
        "import planaria\n"
        "def double(x: int) -> int: return 2 * x\n"
        "try: planaria.ToolRegistry([double])\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program, module], capture_output=True, text=True)
    assert done.stdout.endswith("pip install 'planaria[tools]'\n"), done.stderr


def test_scope_holds_everywhere(registry: ToolRegistry) -> None:
    """What is outside a scope cannot be listed, counted, got, called, or seen in stubs; suggestions do not name it."""
    scope = registry.scoped(["safe", "other"])
    assert [tool["name"] for tool in scope.list()] == ["double"]
    assert [tool.name for tool in scope] == ["double"]
    assert len(scope) == 1
    assert "later" not in scope
    assert scope.call("double", None, {"number": 1}) == 2
    with pytest.raises(ToolNotFound, match=r"^there is no tool 'later'; there is 'double'$"):
        scope.call("later", None, {"number": 1})
    with pytest.raises(ToolNotFound):
        scope.resume("later", None, {"number": 1}, True)
    assert "later" not in scope.stubs("docstrings")


def test_scopes_within_scopes_only_narrow(registry: ToolRegistry) -> None:
    """A scope of a scope holds what is in both; it follows its registry, cannot change it, and closes nothing."""
    scope = registry.scoped(["math"]).scoped(["safe", "broken"])
    assert [tool.name for tool in scope] == ["double"]
    registry.add(later, name="new", tags=["broken", "math"])
    assert [tool.name for tool in scope] == ["double", "new"]
    for change in (lambda: scope.add(double, name="x"), lambda: scope.remove("double")):
        with pytest.raises(TypeError, match="in the whole registry"):
            change()
    scope.close()
    assert len(registry) == 4
    with pytest.raises(TypeError, match="a list of tags"):
        registry.scoped("math")


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.sets(st.sampled_from("xyz"))),
    st.lists(st.sets(st.sampled_from("xyzw")), max_size=3),
)
def test_scopes_are_the_tools_with_a_tag_of_each(tools: dict[str, set[str]], scopes: list[set[str]]) -> None:
    """For any tags and any nested scopes, exactly the tools with a tag of each scope exist, everywhere."""
    registry = ToolRegistry()
    for name, tags in tools.items():
        registry.add(double, name=name, tags=tags)
    scope = registry
    for tags in scopes:
        scope = scope.scoped(tags)
    inside = sorted(name for name, tags in tools.items() if all(tags & one for one in scopes))
    assert [tool.name for tool in scope] == [tool["name"] for tool in scope.list()] == inside
    assert sorted(tool["name"] for tool in scope.search("twice number", limit=99)) == inside
    assert [line for line in scope.stubs("names").splitlines() if line.startswith("tools.")] == [
        f"tools.{name}(...)" for name in inside
    ]
    for name in tools:
        assert (name in scope) == (name in inside)
        if name in inside:
            assert scope.call(name, None, {"number": 1}) == 2
        else:
            with pytest.raises(ToolNotFound):
                scope.call(name, None, {"number": 1})


def test_calls_leave_records(registry: ToolRegistry) -> None:
    """Each call has a record from its beginning on, with arguments, times and how it ended."""
    trace: list[ToolCall] = []
    registry.call("double", None, {"number": 1}, trace=trace)
    waiting = registry.call("later", None, {"number": 1}, trace=trace)
    assert (trace[1].outcome, trace[1].duration_ms) == ("running", None)
    wait(waiting)
    calls: list[Call] = [("always-fails", None, {}), ("nothing", "at_all", {})]
    for call in calls:
        with pytest.raises(LookupError):
            registry.call(*call, trace=trace)
    assert [(one.name, one.arguments, one.outcome) for one in trace] == [
        ("double", {"number": 1}, "ok"),
        ("later", {"number": 1}, "ok"),
        ("always_fails", {}, "error"),
        ("nothing.at_all", {}, "error"),
    ]
    assert trace[2].error == "KeyError: 'nothing there'"
    assert all(one.duration_ms is not None and one.started > 0 for one in trace)


def test_records_do_not_keep_large_arguments(registry: ToolRegistry) -> None:
    """What is large in the arguments of a finished call is cut in its record, with a note of how much there was."""
    nested: list[Any] = []
    for _ in range(5000):
        nested = [nested]
    given = {
        "small": {"a": [1, "x", None], (1, 2): {3}},
        "text": "x" * 5000,
        "data": bytes(5000),
        "many": list(range(100_000)),
        "big": 1 << 100_000,
        "nested": nested,
    }
    seen: list[int] = []
    registry.add(lambda **more: seen.append(len(more["text"])), name="take")
    trace: list[ToolCall] = []
    registry.call("take", None, given, trace=trace)
    assert seen == [5000]
    kept = trace[0].arguments
    assert kept["small"] == {"a": [1, "x", None], "[1, 2]": [3]}
    assert kept["text"] == "x" * 1000 + "… (5000 characters)"
    assert kept["data"] == bytes(1000) + "… (5000 bytes)".encode()
    assert kept["many"][-1].endswith("more)")
    assert len(repr(kept)) < 20_000
    assert given["many"] == list(range(100_000))


def test_arguments_that_no_python_code_could_give_are_refused(registry: ToolRegistry) -> None:
    """Names of arguments that are not strings, and names of any length, are refused with a short message."""
    with pytest.raises(ToolArgumentError, match="argument names must be strings, not 3"):
        registry.call("double", None, {3: 4})  # type: ignore[dict-item]
    long = "x" * 1_000_000
    calls: list[Call] = [(long, None, {}), ("double", long, {}), ("double", None, {long: 1})]
    for call in calls:
        with pytest.raises(ToolCallError) as raised:
            registry.call(*call)
        assert len(str(raised.value)) < 300


def test_tool_that_cannot_list_its_callables_is_listed_with_the_error(registry: ToolRegistry) -> None:
    """A tool whose server does not answer hides no other: it is listed with its error, and named in stubs."""

    class Down(Tool):
        @property
        def callables(self) -> tuple[ToolCallable, ...]:
            raise ToolCallError("the server\ndid not start")

        def call(self, callable: str | None, arguments: Any) -> Any: ...  # noqa: A002

    registry.add(Down("down", "A server"))
    listed = {tool["name"]: tool for tool in registry.list()}
    assert (listed["down"]["callables"], listed["down"]["error"]) == ([], "the server\ndid not start")
    assert "error" not in listed["double"]
    assert "# down cannot be used now: the server" in registry.stubs()
    assert "# tools.down cannot be used now: the server" in registry.stubs("names")


class Recorder:
    """A middleware that is asynchronous, or not, and writes down what it sees."""

    def __init__(self, name: str, seen: list[str]) -> None:
        self.name = name
        self.seen = seen

    def before(self, call: ToolCall) -> None:
        self.seen.append(f"{self.name} before {call.name}")

    def after(self, call: ToolCall, result: Any) -> Any:
        self.seen.append(f"{self.name} after {call.name}")
        return result


class AsyncRecorder(Recorder):
    async def before(self, call: ToolCall) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        super().before(call)

    async def after(self, call: ToolCall, result: Any) -> Any:
        await asyncio.sleep(0)
        return super().after(call, result)


@pytest.mark.parametrize("tool", ["double", "later"])
@pytest.mark.parametrize(
    "kinds", [(Recorder, Recorder), (AsyncRecorder, Recorder), (Recorder, AsyncRecorder)]
)
def test_middleware_stands_around_calls(registry: ToolRegistry, tool: str, kinds: Any) -> None:
    """The first middleware is the outermost; a call is awaited only when one of them or the tool must be."""
    seen: list[str] = []
    registry.middleware += [kinds[0]("outer", seen), kinds[1]("inner", seen)]
    value = registry.call(tool, None, {"number": 3})
    if tool == "later" or AsyncRecorder in kinds:
        value = wait(value)
    assert value in (4, 6)
    assert seen == [
        f"outer before {tool}",
        f"inner before {tool}",
        f"inner after {tool}",
        f"outer after {tool}",
    ]


def test_middleware_rewrites_arguments_and_results(registry: ToolRegistry) -> None:
    """What a middleware puts in the place of arguments is what the tool gets, and what it returns the result."""

    class Rewriting(ToolMiddleware):
        def before(self, call: ToolCall) -> None:
            call.arguments["number"] += 10

        def after(self, call: ToolCall, result: Any) -> Any:
            return f"{call.tool}: {result}"

    scope = registry.scoped(["math"])
    registry.middleware = [Rewriting()]
    given = {"number": 1}
    assert registry.call("double", None, given) == "double: 22"
    assert given == {"number": 1}
    assert scope.call("double", None, given) == "double: 22"


def test_middleware_denies(registry: ToolRegistry) -> None:
    """A call that a middleware denies does not reach the tool, and its record says so."""

    class Denying:
        def before(self, call: ToolCall) -> None:
            if "safe" not in call.tags:
                raise ToolDenied("only safe tools today")

    registry.middleware.append(Denying())
    trace: list[ToolCall] = []
    assert registry.call("double", None, {"number": 1}, trace=trace) == 2
    with pytest.raises(ToolDenied, match="only safe tools today") as raised:
        registry.call("later", None, {"number": 1}, trace=trace)
    assert isinstance(raised.value, PermissionError)
    assert (raised.value.tool, [one.outcome for one in trace]) == ("later", ["ok", "denied"])


class Asking:
    """A middleware that asks for approval, at once or after waiting."""

    def __init__(self, reason: str = "may I?") -> None:
        self.reason = reason

    def before(self, call: ToolCall) -> None:
        raise Suspend(self.reason)


class AskingLater(Asking):
    async def before(self, call: ToolCall) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        raise Suspend(self.reason)


@pytest.mark.parametrize("asking", [Asking, AskingLater])
def test_approval_parks_the_call_and_a_decision_goes_on_with_it(registry: ToolRegistry, asking: Any) -> None:
    """A call that needs approval raises Suspend with a reason that says so; True lets it run once, through all middleware."""
    seen: list[str] = []
    registry.middleware += [Recorder("outer", seen), asking(), asking("sure?")]
    trace: list[ToolCall] = []
    with pytest.raises(Suspend) as raised:
        wait(run(registry.call, "double", None, {"number": 2}, trace=trace))
    assert asks_approval(raised.value.reason)
    assert "may I?" in raised.value.reason
    assert wait(run(registry.resume, "double", None, {"number": 2}, True, trace=trace)) == 4
    assert [(one.outcome, one.approved) for one in trace] == [("suspended", False), ("ok", True)]
    assert seen == ["outer before double", "outer before double", "outer after double"]


async def run(function: Any, *arguments: Any, **keywords: Any) -> Any:
    """Call a function that gives a value or an awaitable."""
    value = function(*arguments, **keywords)
    return await value if asyncio.iscoroutine(value) else value


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (False, r"double\(\) was not approved$"),
        (None, r"was not approved$"),
        ("too dangerous", r"was not approved: too dangerous$"),
        (1, r"was not approved$"),
    ],
)
def test_anything_but_true_denies(registry: ToolRegistry, decision: object, message: str) -> None:
    """Only True approves; anything else is ToolDenied, with a text as its reason, and the tool does not run."""
    registry.middleware.append(Asking())
    trace: list[ToolCall] = []
    with pytest.raises(ToolDenied, match=message):
        registry.resume("double", None, {"number": 2}, decision, trace=trace)
    assert trace[0].outcome == "denied"


def test_tool_that_suspends_itself_asks_no_approval(registry: ToolRegistry) -> None:
    """A Suspend of the tool itself waits for its result, as that of a callback does."""

    def ask_a_human() -> None:
        raise Suspend("somebody will answer")

    registry.add(ask_a_human)
    registry.middleware.append(SimpleNamespace())
    with pytest.raises(Suspend) as raised:
        registry.call("ask_a_human", None, {})
    assert not asks_approval(raised.value.reason)
