"""The server that the official conformance suite calls: what it wants, under the suite's names."""

import asyncio
import json
from enum import Enum
from itertools import count
from typing import Annotated, Any, Literal

import msgspec

from accord import (
    Answer,
    Audio,
    Context,
    Elicit,
    Elicited,
    Embedded,
    Header,
    Image,
    ListRoots,
    Message,
    Problem,
    Sample,
    Server,
)
from accord.model.tool import Bound, Tool

server = Server(
    "conformance",
    version="1.0",
    instructions="For the conformance suite.",
    changing={"tools", "prompts"},
)

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
SILENCE = bytes.fromhex(
    "524946462400000057415645666d74201000000001000100401f0000401f00000100080064617461"
) + bytes(4)
NUMBERS = count(1)


# Tools


@server.tool
async def test_simple_text() -> str:
    """Say something simple."""
    return "This is a simple text response for testing."


@server.tool
async def test_image_content() -> Image:
    """Show a picture."""
    return Image(PIXEL, "image/png")


@server.tool
async def test_audio_content() -> Audio:
    """Play nothing for a moment."""
    return Audio(SILENCE, "audio/wav")


@server.tool
async def test_embedded_resource() -> Embedded:
    """Send a resource along."""
    return Embedded(
        "test://embedded-resource", "This is an embedded resource content.", "text/plain"
    )


@server.tool
async def test_multiple_content_types() -> list[str | Image | Embedded]:
    """Send text, a picture and a resource."""
    resource = Embedded(
        "test://mixed-content-resource", '{"test":"data","value":123}', "application/json"
    )
    return ["Multiple content types test:", Image(PIXEL, "image/png"), resource]


@server.tool
async def test_error_handling() -> str:
    """Fail."""
    raise Problem("This tool intentionally returns an error for testing")


@server.tool
async def test_tool_with_progress(context: Context) -> str:
    """Tell how far it has come, three times."""
    for done in (0, 50, 100):
        await context.progress(done, total=100, message=f"{done} of 100")
        await asyncio.sleep(0.05)
    return "done"


@server.tool
async def test_tool_with_logging(context: Context) -> str:
    """Log three lines."""
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.log("info", line)
        await asyncio.sleep(0.05)
    return "logged"


@server.tool
async def test_logging_tool(context: Context) -> str:
    """Log something, for those who want to hear it."""
    await context.log("error", {"what": "nothing"}, logger="test")
    return "done"


@server.tool
async def test_missing_capability(context: Context) -> str:
    """Go on only with a client that can sample."""
    context.require("sampling")
    return "The client can sample"


@server.tool
async def test_reconnection(context: Context) -> str:
    """Let the client go, which comes back for the answer."""
    await context.detach(seconds=0.5)
    await asyncio.sleep(0.1)
    return "Reconnection test completed"


@server.tool
async def test_header(region: Annotated[str, Header("Region")]) -> str:
    """Take an argument that a header repeats."""
    return region


FULL_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
server.add(
    Tool(
        name="json_schema_2020_12_tool",
        description="Tool with JSON Schema 2020-12 features",
        input_schema=FULL_SCHEMA,
        bind=Bound,
        invoke=lambda arguments, _: msgspec.json.decode(arguments),
        is_async=False,
    )
)


# Tools that ask


class Name(msgspec.Struct):
    name: str


class Colour(msgspec.Struct):
    color: str


class Confirmation(msgspec.Struct):
    ok: bool


class Contact(msgspec.Struct):
    username: Annotated[str, msgspec.Meta(description="User's response")]
    email: Annotated[str, msgspec.Meta(description="User's email address")]


class Person(msgspec.Struct):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


class Titled(Enum):
    FIRST_OPTION = "value1"
    SECOND_OPTION = "value2"
    THIRD_OPTION = "value3"


Untitled = Literal["option1", "option2", "option3"]


class Enums(msgspec.Struct, rename="camel"):
    untitled_single: Untitled
    titled_single: Titled
    legacy_enum: Literal["opt1", "opt2", "opt3"]
    untitled_multi: list[Untitled]
    titled_multi: list[Titled]


def told(answer: Elicited[Any]) -> str:
    content = json.dumps(msgspec.to_builtins(answer.data))
    return f"Elicitation completed: action={answer.action}, content={content}"


@server.tool
async def test_sampling(prompt: str, context: Context) -> str:
    """Ask the client's model."""
    said = await context.sample(prompt, max_tokens=100)
    return f"LLM response: {said.text}"


@server.tool
async def test_elicitation(message: str, context: Context) -> str:
    """Ask a person."""
    return told(await context.elicit(message, Contact))


@server.tool
async def test_elicitation_sep1034_defaults(context: Context) -> str:
    """Ask with something filled in."""
    return told(await context.elicit("Please check this", Person))


@server.tool
async def test_elicitation_sep1330_enums(context: Context) -> str:
    """Let somebody choose, in all the ways there are."""
    form = Elicit("Please choose", Enums).params(context.client.revision)["requestedSchema"]
    titles = ["Option One", "Option Two", "Option Three"]
    form["properties"]["legacyEnum"]["enumNames"] = titles
    (answer,) = (await context.ask(choice=Elicit("Please choose", form))).values()
    return told(answer)


@server.tool
async def test_streaming_elicitation(context: Context) -> str:
    """Say something, and ask."""
    await context.progress(1)
    return told(await context.elicit("Go on?", Confirmation))


@server.tool
async def test_input_required_result_elicitation(context: Context) -> str:
    """Ask for a name."""
    said = await context.ask(user_name=Elicit("What is your name?", Name))
    return f"Hello, {said['user_name'].data.name}!"


@server.tool
async def test_input_required_result_sampling(context: Context) -> str:
    """Ask a model."""
    question = Sample("What is the capital of France?", max_tokens=100)
    return str((await context.ask(capital_question=question))["capital_question"].text)


@server.tool
async def test_input_required_result_list_roots(context: Context) -> str:
    """Ask for folders."""
    roots = (await context.ask(client_roots=ListRoots()))["client_roots"]
    return ", ".join(root.uri for root in roots)


@server.tool
async def test_input_required_result_request_state(context: Context) -> str:
    """Ask, and know that it is the same request."""
    await context.ask(confirm=Elicit("Please confirm", Confirmation))
    return "state-ok"


@server.tool
async def test_input_required_result_tampered_state(context: Context) -> str:
    """The same; the suite changes the state."""
    await context.ask(confirm=Elicit("Please confirm", Confirmation))
    return "state-ok"


@server.tool
async def test_input_required_result_multiple_inputs(context: Context) -> str:
    """Ask a person, a model and the client at once."""
    said = await context.ask(
        user_name=Elicit("What is your name?", Name),
        greeting=Sample("Generate a greeting", max_tokens=50),
        client_roots=ListRoots(),
    )
    return f"{said['greeting'].text} {said['user_name'].data.name}, {len(said['client_roots'])}"


@server.tool
async def test_input_required_result_multi_round(context: Context) -> str:
    """Ask one thing after the other."""
    first = await context.ask(step1=Elicit("Step 1: What is your name?", Name))
    second = await context.ask(step2=Elicit("Step 2: What is your favorite color?", Colour))
    return f"{first['step1'].data.name} likes {second['step2'].data.color}"


@server.tool
async def test_input_required_result_capabilities(context: Context) -> str:
    """Ask whoever can be asked."""
    if context.can("elicitation"):
        await context.elicit("What is your name?", Name)
    if context.can("sampling"):
        await context.sample("Say something")
    return "asked"


# Tools that change the server


@server.tool
async def test_trigger_tool_change() -> str:
    """Add a tool, and take it away."""

    async def added() -> str:
        """Come and go."""
        return "here"

    name = f"added_{next(NUMBERS)}"
    server.tool(name=name)(added)
    server.remove(server.tools[name])
    return "changed"


@server.tool
async def test_trigger_prompt_change() -> str:
    """Add a prompt, and take it away."""

    def added() -> str:
        """Come and go."""
        return "here"

    name = f"added_{next(NUMBERS)}"
    server.prompt(name=name)(added)
    server.remove(server.prompts[name])
    return "changed"


# Prompts


@server.prompt
def test_simple_prompt() -> str:
    """Say something simple."""
    return "This is a simple prompt for testing."


@server.prompt
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """Say what was given.

    Args:
        arg1: First test argument
        arg2: Second test argument
    """
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.completion("test_prompt_with_arguments", "arg1")
def complete_arg1(value: str) -> Answer[Any] | list[str]:
    """Complete the first argument."""
    return [word for word in ("paris", "park", "party", "test") if word.startswith(value)]


@server.prompt
def test_prompt_with_embedded_resource(resourceUri: str) -> list[Message | Embedded | str]:  # noqa: N803
    """Send a resource along."""
    resource = Embedded(resourceUri, "Embedded resource content for testing.", "text/plain")
    return [resource, "Please process the embedded resource above."]


@server.prompt
def test_prompt_with_image() -> list[Image | str]:
    """Show a picture."""
    return [Image(PIXEL, "image/png"), "Please analyze the image above."]


class RenderContext(msgspec.Struct):
    context: str


@server.prompt
async def test_input_required_result_prompt(context: Context) -> str:
    """Ask first."""
    said = await context.ask(
        user_context=Elicit("What context should the prompt use?", RenderContext)
    )
    return f"Use this: {said['user_context'].data.context}"


# Tasks


class Agreement(msgspec.Struct):
    confirm: bool


@server.tool
async def greet(name: str) -> str:
    """Answer at once."""
    return f"Hello, {name}!"


@server.tool(task=True)
async def slow_compute(seconds: float, context: Context, label: str = "") -> str:
    """Take some seconds."""
    context.status(f"computing {label}")
    await asyncio.sleep(seconds)
    return f"Computed {label} in {seconds:g} s"


@server.tool(task="required")
async def failing_job() -> str:
    """Fail after a second."""
    await asyncio.sleep(1)
    raise Problem("The job has failed")


@server.tool(task=True)
async def protocol_error_job(context: Context) -> str:
    """Need what the client does not have."""
    await asyncio.sleep(0.1)
    context.require("roots")
    return "done"


@server.tool(task=True)
async def confirm_delete(filename: str, context: Context) -> str:
    """Ask once."""
    answer = await context.elicit(f"Delete {filename}?", Agreement)
    is_agreed = answer.data is not None and answer.data.confirm
    return f"{filename} was {'deleted' if is_agreed else 'kept'}"


@server.tool(task=True)
async def multi_input(context: Context) -> str:
    """Ask two questions at once."""
    answers = await context.ask(
        first=Elicit("And your name?", Name), second=Elicit("Go on?", Agreement)
    )
    return ", ".join(sorted(answers))


@server.tool(task="required", after=0.3)
async def test_tool_with_task(context: Context) -> str:
    """Ask for a name, then become a task."""
    answers = await context.ask(user_name=Elicit("What is your name?", Name))
    await asyncio.sleep(0.8)
    return f"Hello, {answers['user_name'].data.name}!"


# Resources


@server.resource("test://static-text")
def static_text() -> str:
    """Text."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """A picture."""
    return PIXEL


@server.resource("test://template/{id}/data")
def template(id: str) -> dict[str, Any]:
    """Data for an id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


@server.resource("test://watched-resource", watched=True)
def watched() -> str:
    """Something that may change."""
    return "Watched resource content"
