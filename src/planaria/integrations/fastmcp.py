"""FastMCP: code mode with CPython. Needs `planaria[fastmcp]`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Unpack

from fastmcp.tools.base import ToolResult
from mcp_types import ImageContent

from planaria.integrations.result_content import result_images
from planaria.limits import Limits
from planaria.session._async.session import AsyncSession
from planaria.session.options import SessionArguments
from planaria.session.parameters import suggest_session_options
from planaria_kernel.protocol import Repr

__all__ = ["PlanariaSandboxProvider"]

_LIMITS: Final = Limits(timeout=30)
#: The program becomes the body of a function, so that it can `return`; its last expression is a value too.
_PROGRAM: Final = """
import ast as _ast


async def _run_program(program):
    body = _ast.parse(program["code"], "<program>").body or [_ast.Pass()]
    if isinstance(body[-1], _ast.Expr):
        body[-1] = _ast.copy_location(_ast.Return(body[-1].value), body[-1])
    module = _ast.parse("async def _program(): pass")
    module.body[0].body = body
    names = {**globals(), **program["inputs"]}
    exec(compile(_ast.fix_missing_locations(module), "<program>", "exec"), names)
    return await names["_program"]()


await _run_program(await _program_given())
"""


class PlanariaSandboxProvider:
    """The `sandbox_provider` of FastMCP's `CodeMode`: each program of the model runs in a session of its own.

    Args:
        arguments: those of `planaria.AsyncSession`. Unless `limits` are given, a program may take 30 seconds,
            the calls of tools included.
    """

    @suggest_session_options(SessionArguments.__annotations__)
    def __init__(self, **arguments: Unpack[SessionArguments]) -> None:
        self._arguments: SessionArguments = {"limits": _LIMITS, **arguments}

    async def run(
        self,
        code: str,
        *,
        inputs: dict[str, Any] | None = None,
        external_functions: dict[str, Callable[..., Any]] | None = None,
    ) -> Any:
        """Execute a program: what it returns, or the value of its last expression. When it has drawn figures,
        that is a ToolResult with the value and the images.

        `inputs` are variables, `external_functions` are awaited by the program. Raises what the program
        raises as ExecutionError, and the other errors of `Session.execute`.
        """
        given = {"code": code, "inputs": inputs or {}}
        callbacks = [
            *self._arguments.get("callbacks", ()),
            {"name": "_program_given", "fn": lambda: given},
            *({"name": name, "fn": function} for name, function in (external_functions or {}).items()),
        ]
        arguments: SessionArguments = {**self._arguments, "callbacks": callbacks}
        async with AsyncSession(**arguments) as session:
            result = await session.execute(_PROGRAM, name="<code mode>")
        value = result.repr if isinstance(result.value, Repr) else result.value
        images = [ImageContent(data=image.base64, mime_type=image.mime) for image in result_images(result)]
        if not images:
            return value
        content = images if value is None else [value, *images]
        return ToolResult(content, structured_content=value if isinstance(value, dict) else None)
