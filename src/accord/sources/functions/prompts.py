"""A function as a prompt: it returns what is said to a model."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

from accord.errors import require_known
from accord.model.content import Icon
from accord.model.prompt import Argument, Prompt
from accord.sources.functions.examine import examine
from accord.sources.functions.texts import Texts


class PromptOptions(TypedDict, total=False):
    """What can be said of a prompt that its function does not say itself."""

    name: str
    title: str
    description: str
    icons: Sequence[Icon]
    meta: Mapping[str, Any]


def function_prompt(function: Callable[..., Any], **options: Unpack[PromptOptions]) -> Prompt:
    """A function as a prompt: its arguments from its signature, its words from its docstring."""
    found = examine(function, "prompt", options.get("name"))
    require_known(options, PromptOptions.__annotations__, found.what)
    texts = Texts(function, found, "prompt")
    return Prompt(
        name=found.name,
        title=options.get("title"),
        description=options.get("description", found.words.text),
        arguments=_arguments(texts),
        bind=texts.bind,
        invoke=found.awaited(texts.caller()),
        is_async=found.is_async,
        wants_context=texts.wants_context,
        icons=options.get("icons", ()),
        meta=options.get("meta"),
    )


def _arguments(texts: Texts) -> list[Argument]:
    required, choices = texts.schema["required"], texts.choices()
    return [
        Argument(name, schema.get("description"), name in required, choices.get(name, ()))
        for name, schema in texts.schema["properties"].items()
    ]
