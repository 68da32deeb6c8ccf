from __future__ import annotations

import sys
import warnings
from types import CodeType, FunctionType, ModuleType

import pytest

from planaria_kernel.shims.code_objects import line_number_table

pytestmark = pytest.mark.skipif(
    sys.version_info >= (3, 15), reason="code objects have no co_lnotab to compare with"
)

#: Steps over more lines, and more bytes, than an entry of the table holds; backwards too.
FAR = "x = 1\n" + "\n" * 1000 + "y = (\n" + "x,\n" * 300 + ")\nfor i in y:\n  x\n  " + "x + " * 400 + "x\n"


def inside(code: CodeType) -> list[CodeType]:
    """A code object, and those in it."""
    return [code] + [one for inner in code.co_consts if isinstance(inner, CodeType) for one in inside(inner)]


def of_module(module: ModuleType) -> list[CodeType]:
    functions = [one for one in vars(module).values() if isinstance(one, FunctionType)]
    methods = [
        function
        for one in vars(module).values()
        if isinstance(one, type)
        for function in vars(one).values()
        if isinstance(function, FunctionType)
    ]
    return [code for function in functions + methods for code in inside(function.__code__)]


@pytest.mark.parametrize("name", ["argparse", "ast", "asyncio.tasks", "json.decoder", "typing", "inspect"])
def test_line_number_tables_are_cpythons(name: str) -> None:
    """The line numbers of code objects are, byte for byte, those that earlier versions of CPython give."""
    __import__(name)
    found = of_module(sys.modules[name])
    assert found
    assert [line_number_table(code) for code in found] == [table_of(code) for code in found]


def test_large_steps() -> None:
    """Steps that no entry of the table holds take several."""
    [code] = inside(compile(FAR, "far", "exec"))
    assert len(table_of(code)) > 1000
    assert line_number_table(code) == table_of(code)


def table_of(code: CodeType) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return code.co_lnotab
