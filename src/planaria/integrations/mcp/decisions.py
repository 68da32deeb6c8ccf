"""Calls that wait for a decision (`planaria.Suspend`), put to the user of an MCP client by elicitation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from planaria.errors import SessionError
from planaria.workspace.tools.middleware import asks_approval, question

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

    from planaria.executors.messages import HostCall
    from planaria.session._async.session import AsyncExecution, AsyncSession
    from planaria.session.result import Result

__all__ = ["answer_pending"]

_APPROVE: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"approve": {"type": "boolean", "title": "Approve"}},
    "required": ["approve"],
}
_ANSWER: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "title": "Answer"}},
    "required": ["answer"],
}


async def answer_pending(
    context: Context[Any, Any], session: AsyncSession
) -> Result | InputRequiredResult | None:
    """Have the client's user decide about the calls that an execution waits for, until it is over.

    With the protocol of 2026-07-28, which has no requests of a server's, the questions are the result; the
    client makes the same call again with the answers. Where the client cannot ask, the calls raise
    PermissionError. None when no execution waits.
    """
    run = session.run_in_progress
    if run is None:
        return None
    responses = context.input_responses
    while True:
        questions = {call.id: _question(run, call) for call in run.pending}
        if responses is None and questions:
            if context.client_capabilities is None or context.client_capabilities.elicitation is None:
                for number in questions:
                    await run.reject(
                        number, PermissionError("this client cannot ask its user for a decision")
                    )
            elif context.protocol_version in MODERN_PROTOCOL_VERSIONS:
                return InputRequiredResult(
                    input_requests={
                        str(number): ElicitRequest(params=one) for number, one in questions.items()
                    }
                )
            else:
                for number, one in questions.items():
                    answer = await context.session.elicit_form(
                        one.message, one.requested_schema, context.request_context.request_id
                    )
                    await _answer(run, number, answer)
        else:
            for number in questions:
                given = (responses or {}).get(str(number))
                await _answer(run, number, given if isinstance(given, ElicitResult) else None)
            responses = None
        try:
            return await run.result()
        except SessionError:
            if not run.pending:
                raise


def _question(run: AsyncExecution, call: HostCall) -> ElicitRequestFormParams:
    reason = run.reasons.get(call.id, "")
    if asks_approval(reason):
        return ElicitRequestFormParams(message=question(reason), requested_schema=_APPROVE)
    arguments = [*map(repr, call.args), *(f"{name}={value!r}" for name, value in (call.kwargs or {}).items())]
    asked = f"{call.name}({', '.join(arguments)})"
    return ElicitRequestFormParams(
        message=f"{reason}: {asked}" if reason else asked, requested_schema=_ANSWER
    )


async def _answer(run: AsyncExecution, number: int, answer: ElicitResult | None) -> None:
    """Resolve a call by what the user decided; whatever is not an approval or an answer is a refusal."""
    content = answer.content if answer is not None and answer.action == "accept" else None
    if content is not None and content.get("approve") is True:
        await run.resolve(number, True)
    elif content is not None and isinstance(content.get("answer"), str):
        await run.resolve(number, content["answer"])
    else:
        await run.reject(number, PermissionError("the user of this client declined"))
