"""A cell: source text compiled the way a notebook does it."""

from __future__ import annotations
import __future__

import ast
import gc
import inspect
import linecache
import re
import sys
import tokenize
from _imp import _fix_co_filename  # type: ignore[attr-defined]  # as importing a module that was moved does
from collections.abc import Callable
from io import StringIO
from types import CodeType
from typing import Any, Final, TypeAlias

from planaria_kernel.execution import foreign_syntax
from planaria_kernel.execution.magic_syntax import Rewritten, rewritten

__all__ = ["FUTURE_FLAGS", "RUN_NAME", "Cell", "compile_cell"]

#: The name by which rewritten code reaches the kernel's `asyncio.run`; see `_TopLevel`.
RUN_NAME: Final = "__planaria_run__"
#: A line that begins like this is a compound statement (or a decorator), or could be one.
_COMPOUND: Final = re.compile(r"\s*(?:(?:if|for|while|with|try|def|class|async|match)\b|@|$)").match
#: Functions of asyncio that a cell can only call while a loop is running.
_LOOP_FUNCTIONS: Final = frozenset(
    {"create_task", "ensure_future", "gather", "get_running_loop", "current_task"}
)
#: The variable that has the value of a cell whose statements are wrapped.
_VALUE: Final = "__planaria_value__"
_AWAIT: Final = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_PARSE: Final = ast.PyCF_ONLY_AST | _AWAIT
FUTURE_FLAGS: Final = {name: getattr(__future__, name).compiler_flag for name in __future__.all_feature_names}


class _TransientName(str):
    """The name with which a cell is compiled that has no functions: nothing but its own frame has it.

    Python interns the file names of code, each by itself in a table of all strings that are interned, whose
    place is another for each name; that of a subclass it does not. So an execution writes to the same memory
    as the one before, which is what its checkpoint costs.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


#: The source of a cell, the flags, and whether a value is captured.
_Key: TypeAlias = tuple[str, int, bool]


class Cell:
    """The code of a cell: `body` (or None) runs first, the value of `last` (or None) is the cell's value.

    With `captures`, the value is what the body gives to `sys.displayhook` instead. `awaits` says that one
    of them is a coroutine; `parks` that it is one only because a call of `asyncio.run` was rewritten.
    `flags` are the `from __future__` flags that the cells after it have.
    """

    __slots__ = ("awaits", "body", "captures", "flags", "is_flat", "key", "last", "parks", "silent")

    def __init__(self, body: CodeType | None, last: CodeType | None, flags: int, silent: bool) -> None:
        self.body = body
        self.last = last
        self.flags = flags
        #: The cell ends with `;`: its value is not shown.
        self.silent = silent
        self.captures = False
        self.parks = False
        #: What it was compiled from, if it is kept.
        self.key: _Key | None = None
        #: Whether there is no code inside its code, as that of a function.
        self.is_flat = True
        for code in (body, last):
            if code is not None:
                for constant in code.co_consts:
                    if type(constant) is CodeType:
                        self.is_flat = False
        self.awaits = (body is not None and body.co_flags & inspect.CO_COROUTINE != 0) or (
            last is not None and last.co_flags & inspect.CO_COROUTINE != 0
        )

    def run(self, space: dict[str, Any]) -> Any:
        """Run a cell that awaits nothing and has a last expression, in a namespace; returns its value."""
        if self.body is not None:
            exec(self.body, space)
        return eval(self.last, space)  # type: ignore[arg-type]

    @property
    def leaves_nothing(self) -> bool:
        """Whether nothing has its code but itself: no function that it has defined, and no traceback."""
        return (
            self.is_flat
            and (self.body is None or sys.getrefcount(self.body) == _UNUSED)
            and (self.last is None or sys.getrefcount(self.last) == _UNUSED)
        )

    @property
    def may_leave_nothing(self) -> bool:
        """Whether `leaves_nothing` may be, once it has run."""
        return self.is_flat and not self.awaits

    def rename(self, name: str) -> None:
        """Make it the file `name`, where nothing has its code but itself."""
        if self.body is not None:
            _fix_co_filename(self.body, name)
        if self.last is not None:
            _fix_co_filename(self.last, name)

    def renamed(self, name: str) -> Cell:
        """The same cell as the file `name`."""
        cell = Cell.__new__(Cell)
        renamed = _renamed_flat if self.is_flat else _renamed
        cell.body = None if self.body is None else renamed(self.body, name)
        cell.last = None if self.last is None else renamed(self.last, name)
        cell.flags = self.flags
        cell.silent = self.silent
        cell.captures = self.captures
        cell.key = None
        cell.is_flat = self.is_flat
        cell.parks = self.parks
        cell.awaits = self.awaits
        return cell


_unused = Cell(compile("", "", "exec"), None, 0, False)
assert _unused.body is not None
#: The references to code that nothing but its cell has, as `Cell.leaves_nothing` counts them.
_UNUSED: Final = sys.getrefcount(_unused.body)


def _renamed_flat(code: CodeType, name: str) -> CodeType:
    return code.replace(co_filename=name)


def _renamed(code: CodeType, name: str) -> CodeType:
    constants = code.co_consts
    for constant in constants:
        if type(constant) is CodeType:
            constants = tuple(_renamed(one, name) if type(one) is CodeType else one for one in constants)
            return code.replace(co_filename=name, co_consts=constants)
    return code.replace(co_filename=name)


#: Cells compiled lately, by what they were compiled from: compiling takes most of the time of a short cell.
#: One that may leave nothing is here only between its runs, and the others as what is copied for each.
_compiled: dict[_Key, Cell] = {}
_MOST_COMPILED: Final = 256
_LONGEST_KEPT: Final = 4096


def compile_cell(
    source: str,
    name: str,
    flags: int = 0,
    check: Callable[[ast.Module], None] | None = None,
    capture: bool = False,
) -> Cell:
    """As `compile_source` (which see); a source that was compiled before is only renamed.

    When the cell has run and has left nothing, `forget_cell` is to be called.
    """
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    key = (source, flags, capture)
    known = _compiled.pop(key, None) if check is None else None
    if known is not None:
        if known.may_leave_nothing:
            known.rename(name)
            return known
        _compiled[key] = known
        return known.renamed(_TransientName(name) if known.is_flat else name)
    try:
        cell = compile_source(source, _TransientName(name), flags, check, capture)
        if not cell.is_flat:
            cell = cell.renamed(name)
    except SyntaxError as error:
        repaired = foreign_syntax.repaired(source)
        magic = rewritten(repaired)
        if magic is None and repaired == source:
            foreign_syntax.explain(error, source)
            raise
        try:
            cell = compile_source(magic or repaired, name, flags, check, capture)
        except SyntaxError as error:
            foreign_syntax.explain(error, source)
            raise
    if len(source) <= _LONGEST_KEPT:
        cell.key = key
        if not cell.may_leave_nothing:
            _keep(cell)
    return cell


def _keep(cell: Cell) -> None:
    """Have a cell found by what it was compiled from."""
    if cell.key is not None:
        if len(_compiled) >= _MOST_COMPILED:
            del _compiled[next(iter(_compiled))]
        _compiled[cell.key] = cell


def forget_cell(cell: Cell, name: str) -> None:
    """Forget the source of a cell that has ended and of which nothing is left: no traceback will show it. Its
    code may run again.
    """
    linecache.cache.pop(name, None)
    _keep(cell)


def forget() -> None:
    """Forget the cells compiled so far."""
    _compiled.clear()


def compile_source(
    source: str | Rewritten,
    name: str,
    flags: int,
    check: Callable[[ast.Module], None] | None,
    capture: bool,
) -> Cell:
    """Compile `source` as the file `name`, or raise SyntaxError (ValueError for null characters).

    `check` sees the syntax tree before it is compiled, and may raise.

    With `capture`, a single simple statement is compiled without going through a syntax tree, which takes
    half the time; it gives its value to `sys.displayhook`.
    """
    wrapped = None
    if isinstance(source, Rewritten):
        wrapped, source = source if source.wrapper is not None else None, source.source
    if (
        capture
        and check is None
        and wrapped is None
        and "\n" not in source
        and ";" not in source
        and "__future__" not in source
        and not _may_run_a_loop(source)
        and not _COMPOUND(source)
    ):
        try:
            cell = Cell(
                compile(source, name, "single", flags | _AWAIT, dont_inherit=True), None, flags, False
            )
        except SyntaxError:  # said better below
            pass
        else:
            cell.captures = True
            return cell
    tree = _parse(source, name, flags)
    if check is not None:
        check(tree)
    if wrapped is not None:
        _wrap(tree, wrapped)
    statements = tree.body
    if not statements:
        return Cell(None, None, flags, silent=True)
    for statement in statements:
        # A docstring may come before `from __future__`, nothing else.
        if type(statement) is ast.ImportFrom:
            if statement.module != "__future__":
                break
            for alias in statement.names:
                flags |= FUTURE_FLAGS.get(alias.name, 0)
        elif type(statement) is not ast.Expr:
            break
    if not _may_run_a_loop(source):
        return _compile(tree, source, name, flags)
    top = _TopLevel()
    top.visit(tree)
    cell = _compile(tree, source, name, flags)
    cell.parks = top.runs and not top.awaits and not top.needs_loop
    cell.awaits = cell.awaits or top.needs_loop
    return cell


def _wrap(tree: ast.Module, wrapped: Rewritten) -> None:
    """Put the statements of a cell into a `with` of its wrapper; its value stays the cell's."""
    statements = tree.body
    if not statements:
        return
    manager = ast.parse(wrapped.wrapper or "", mode="eval").body
    last = statements[-1]
    value = isinstance(last, ast.Expr) and wrapped.keeps_value
    if isinstance(last, ast.Expr) and value:
        statements[-1] = ast.copy_location(ast.Assign([ast.Name(_VALUE, ast.Store())], last.value), last)
    block = ast.copy_location(ast.With([ast.withitem(manager)], statements), statements[0])
    tree.body = [block]
    if value:
        tree.body.append(ast.copy_location(ast.Expr(ast.Name(_VALUE, ast.Load())), last))
    for node in ast.walk(manager):  # an error in it is one of the first line
        ast.copy_location(node, statements[0])
    ast.fix_missing_locations(tree)


def _may_run_a_loop(source: str) -> bool:
    """Whether it is worth looking for what `_TopLevel` finds."""
    return "asyncio" in source or "run(" in source or "run_until_complete" in source


def _parse(source: str, name: str, flags: int) -> ast.Module:
    """The syntax tree of a source. Raises what `compile` raises."""
    tree: ast.Module
    if sys.version_info >= (3, 12) or not gc.isenabled():
        tree = compile(source, name, "exec", flags | _PARSE, dont_inherit=True)
        return tree
    # In Python 3.11, `compile` raises SystemError ("AST constructor recursion depth mismatch") when the
    # garbage collector runs meanwhile and a finalizer parses too, as formatting a traceback does.
    gc.disable()
    try:
        tree = compile(source, name, "exec", flags | _PARSE, dont_inherit=True)
        return tree
    finally:
        gc.enable()


def _compile(tree: ast.Module, source: str, name: str, flags: int) -> Cell:
    statements = tree.body
    last = None
    final = statements[-1]
    if type(final) is ast.Expr:
        del statements[-1]
        last = compile(ast.Expression(final.value), name, "eval", flags | _AWAIT, dont_inherit=True)
    body = compile(tree, name, "exec", flags | _AWAIT, dont_inherit=True) if statements else None
    return Cell(body, last, flags, last is None or _ends_with_semicolon(source))


def _ends_with_semicolon(source: str) -> bool:
    """Whether the last token that is not a comment or blank is `;`."""
    if ";" not in source:
        return False
    if "#" not in source:
        return source.rstrip().endswith(";")
    return _last_token(source) == ";"


def _last_token(source: str) -> str:
    last = ""
    skip = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER, tokenize.DEDENT)
    for token in tokenize.generate_tokens(StringIO(source).readline):
        if token.type not in skip:
            last = token.string
    return last


class _TopLevel(ast.NodeTransformer):
    """What the top level of a cell does with event loops.

    Calls of `asyncio.run(main())` and `loop.run_until_complete(x)` are turned into awaits (`runs`), so that
    they can park with an empty stack. Which function is really called is decided when it runs: the kernel's
    `RUN_NAME` is given the function and its arguments. `awaits`: there are awaits of the user's own.
    `needs_loop`: a running loop is asked for (`asyncio.create_task`).
    """

    runs = False
    awaits = False
    needs_loop = False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Attribute):
            name = function.attr
            in_asyncio = isinstance(function.value, ast.Name) and function.value.id == "asyncio"
        else:
            name = function.id if isinstance(function, ast.Name) else ""
            in_asyncio = True
        if in_asyncio and name in _LOOP_FUNCTIONS:
            self.needs_loop = True
        if name != "run_until_complete" and not (in_asyncio and name == "run"):
            return node
        self.runs = True
        call = ast.Call(ast.Name(RUN_NAME, ast.Load()), [function, *node.args], node.keywords)
        return ast.fix_missing_locations(ast.copy_location(ast.Await(ast.copy_location(call, node)), node))

    def _await(self, node: ast.AST) -> ast.AST:
        self.awaits = True
        return self.generic_visit(node)

    visit_Await = visit_AsyncFor = visit_AsyncWith = _await  # noqa: N815

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        return self._await(node) if node.is_async else self.generic_visit(node)

    def _keep(self, node: ast.AST) -> ast.AST:
        """Other scopes are left alone: an await there would change what they are."""
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _keep  # noqa: N815
    visit_GeneratorExp = _keep  # noqa: N815
