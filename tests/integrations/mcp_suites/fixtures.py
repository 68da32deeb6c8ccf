"""A server with what the conformance suite of MCP's authors calls, beside what `planaria mcp` has.

Content comes from executions where it can: text, images, errors. The rest shows that a server of
`create_server` can have more. `python fixtures.py` serves it at a free port.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)

import planaria
from planaria.cli.listening import serve_at
from planaria.integrations.mcp import NamedSessions, create_server, listen
from planaria.integrations.mcp.outcome import tool_result
from planaria.session.report import as_json

#: The smallest PNG and WAV that there are.
PNG = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
        "0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
    )
).decode()
WAV = base64.b64encode(
    b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\0\0\0\0"
).decode()
#: Code that shows the image.
SHOWN = (
    f"import base64\nfrom IPython.display import Image, display\ndisplay(Image(base64.b64decode({PNG!r})))"
)
ENUMS: dict[str, Any] = {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {
        "type": "string",
        "oneOf": [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)],
    },
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {
        "type": "array",
        "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
    },
    "titledMulti": {
        "type": "array",
        "items": {"anyOf": [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]},
    },
}
DEFAULTS: dict[str, Any] = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}

Answer = CallToolResult | InputRequiredResult
sessions = NamedSessions(
    lambda: planaria.AsyncSession(on_output=listen),
    lambda snapshot: planaria.AsyncSession.from_snapshot(snapshot, on_output=listen),
)
server: MCPServer[Any] = create_server(sessions)


async def executed(code: str) -> CallToolResult:
    """What the execution of some code gives a client. Raises what keeps it from an end, for the log."""
    async with sessions.held("fixtures") as named:
        result = await named.session.run(code)
        if result.error is not None and not isinstance(result.error, planaria.ExecutionError):
            raise result.error
        return tool_result("fixtures", result, as_json(result, result.exit_code), [])


def said(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)])


def embedded(uri: str, kind: str, text: str) -> EmbeddedResource:
    return EmbeddedResource(resource=TextResourceContents(uri=uri, mime_type=kind, text=text))


def form(message: str, properties: dict[str, Any]) -> ElicitRequest:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(text: str, most: int) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=TextContent(text=text))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=most))


# -- content -------------------------------------------------------------------------------------------------


@server.tool()
async def test_simple_text() -> CallToolResult:
    """Text."""
    return await executed("print('This is a simple text response for testing.')")


@server.tool()
async def test_image_content() -> CallToolResult:
    """An image."""
    result = await executed(SHOWN)
    return CallToolResult(content=[one for one in result.content if isinstance(one, ImageContent)])


@server.tool()
async def test_audio_content() -> CallToolResult:
    """Sound."""
    return CallToolResult(content=[AudioContent(data=WAV, mime_type="audio/wav")])


@server.tool()
async def test_embedded_resource() -> CallToolResult:
    """A resource."""
    resource = embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    return CallToolResult(content=[resource])


@server.tool()
async def test_multiple_content_types() -> CallToolResult:
    """Text, an image and a resource."""
    result = await executed(f"print('Multiple content types test:')\n{SHOWN}")
    resource = embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
    return CallToolResult(content=[*result.content, resource])


@server.tool()
async def test_error_handling() -> CallToolResult:
    """An error."""
    return await executed("raise RuntimeError('This tool intentionally returns an error for testing')")


@server.tool()
async def test_tool_with_progress(context: Context[Any, Any]) -> str:
    """Three notifications of progress."""
    for progress in (0, 50, 100):
        await context.report_progress(progress, 100)
        await anyio.sleep(0.05)
    return "done"


# -- questions to the client ---------------------------------------------------------------------------------


@server.tool()
async def test_sampling(prompt: str, context: Context[Any, Any]) -> str:
    """What the client's model says."""
    message = SamplingMessage(role="user", content=TextContent(text=prompt))
    found = await context.session.create_message(
        [message], max_tokens=100, related_request_id=context.request_id
    )
    return f"LLM response: {getattr(found.content, 'text', found.content)}"


async def asked(context: Context[Any, Any], request: ElicitRequest) -> str:
    params = request.params
    assert isinstance(params, ElicitRequestFormParams)
    answer = await context.session.elicit_form(params.message, params.requested_schema, context.request_id)
    return f"action={answer.action}, content={json.dumps(answer.content)}"


@server.tool()
async def test_elicitation(message: str, context: Context[Any, Any]) -> str:
    """What the client's user says."""
    properties = {"username": {"type": "string"}, "email": {"type": "string"}}
    return f"User response: {await asked(context, form(message, properties))}"


@server.tool()
async def test_elicitation_sep1034_defaults(context: Context[Any, Any]) -> str:
    """A form with defaults."""
    return f"Elicitation completed: {await asked(context, form('Who?', DEFAULTS))}"


@server.tool()
async def test_elicitation_sep1330_enums(context: Context[Any, Any]) -> str:
    """A form with choices."""
    return f"Elicitation completed: {await asked(context, form('Which?', ENUMS))}"


@server.tool()
async def test_missing_capability(context: Context[Any, Any]) -> str:
    """What only a client that has sampling may call."""
    capabilities = context.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "this tool needs sampling", needed)
    return "it is there"


# -- questions as results ------------------------------------------------------------------------------------

NAME = {"name": {"type": "string"}}
NAME_QUESTION = form("What is your name?", NAME)


def accepted(context: Context[Any, Any], key: str) -> dict[str, Any] | None:
    """What the client's user has filled in, if it was accepted."""
    answer = (context.input_responses or {}).get(key)
    return answer.content if isinstance(answer, ElicitResult) and answer.action == "accept" else None


@server.tool()
async def test_input_required_result_elicitation(context: Context[Any, Any]) -> Answer:
    """Ask for a name."""
    given = accepted(context, "user_name")
    if given is None:
        return InputRequiredResult(input_requests={"user_name": NAME_QUESTION})
    return said(f"Hello, {given.get('name')}!")


@server.tool()
async def test_input_required_result_sampling(context: Context[Any, Any]) -> Answer:
    """Ask the client's model."""
    answer = (context.input_responses or {}).get("capital_question")
    if not isinstance(answer, CreateMessageResult):
        question = sampling("What is the capital of France?", 100)
        return InputRequiredResult(input_requests={"capital_question": question})
    return said(str(getattr(answer.content, "text", "")))


@server.tool()
async def test_input_required_result_list_roots(context: Context[Any, Any]) -> Answer:
    """Ask for the client's roots."""
    answer = (context.input_responses or {}).get("client_roots")
    if not isinstance(answer, ListRootsResult):
        return InputRequiredResult(input_requests={"client_roots": ListRootsRequest()})
    return said(", ".join(str(root.uri) for root in answer.roots))


async def confirmed(context: Context[Any, Any]) -> Answer:
    if context.request_state != "asked" or accepted(context, "confirm") is None:
        question = form("Please confirm", {"ok": {"type": "boolean"}})
        return InputRequiredResult(input_requests={"confirm": question}, request_state="asked")
    return said("state-ok")


server.tool("test_input_required_result_request_state", description="Ask, with a state.")(confirmed)
server.tool("test_input_required_result_tampered_state", description="The same.")(confirmed)


@server.tool()
async def test_input_required_result_multiple_inputs(context: Context[Any, Any]) -> Answer:
    """Ask three questions at once."""
    if len(context.input_responses or {}) == 3:
        return said("all are there")
    return InputRequiredResult(
        input_requests={
            "user_name": NAME_QUESTION,
            "greeting": sampling("Generate a greeting", 50),
            "client_roots": ListRootsRequest(),
        },
        request_state="asked",
    )


@server.tool()
async def test_input_required_result_multi_round(context: Context[Any, Any]) -> Answer:
    """Ask one question after the other."""
    if accepted(context, "step2") is not None and context.request_state == "round 2":
        return said("done")
    if accepted(context, "step1") is not None:
        question = form("Step 2: What is your favorite color?", {"color": {"type": "string"}})
        return InputRequiredResult(input_requests={"step2": question}, request_state="round 2")
    question = form("Step 1: What is your name?", NAME)
    return InputRequiredResult(input_requests={"step1": question}, request_state="round 1")


@server.tool()
async def test_input_required_result_capabilities(context: Context[Any, Any]) -> Answer:
    """Ask only what the client can answer."""
    capabilities = context.client_capabilities
    if context.input_responses:
        return said("answered")
    if capabilities is not None and capabilities.sampling is not None:
        return InputRequiredResult(input_requests={"greeting": sampling("Generate a greeting", 50)})
    if capabilities is not None and capabilities.elicitation is not None:
        return InputRequiredResult(input_requests={"user_name": NAME_QUESTION})
    return said("this client can answer nothing")


@server.prompt(description="Ask for a context.")
async def test_input_required_result_prompt(context: Context[Any, Any]) -> Any:
    given = accepted(context, "user_context")
    if given is None:
        question = form("What context should the prompt use?", {"context": {"type": "string"}})
        return InputRequiredResult(input_requests={"user_context": question})
    return f"In the context {given.get('context')}"


# -- resources and prompts -----------------------------------------------------------------------------------


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    return base64.b64decode(PNG)


@server.resource("test://template/{id}/data", mime_type="application/json")
def template(id: str) -> str:  # noqa: A002 - the name in the template
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


@server.prompt(description="A prompt.")
def test_simple_prompt() -> str:
    return "This is a simple prompt for testing."


@server.prompt(description="A prompt with arguments.")
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.prompt(description="A prompt with a resource.")
def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803
    resource = embedded(resourceUri, "text/plain", "Embedded resource content for testing.")
    return [UserMessage(resource), UserMessage("Please process the embedded resource above.")]


@server.prompt(description="A prompt with an image.")
def test_prompt_with_image() -> list[UserMessage]:
    image = ImageContent(data=PNG, mime_type="image/png")
    return [UserMessage(image), UserMessage("Please analyze the image above.")]


if __name__ == "__main__":
    host = "127.0.0.1"
    anyio.run(serve_at, server.streamable_http_app(host=host), host, 0, "/mcp")
