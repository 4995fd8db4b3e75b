"""A function as a resource: it returns what there is to read, for the variables of its URI."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypedDict, Unpack

from accord.errors import ContractError, require_known
from accord.model.content import Annotations, Icon
from accord.model.resource import BYTES, JSON, TEXT, Resource
from accord.sources.functions.examine import examine
from accord.sources.functions.texts import Texts

_MIME_TYPES: Final = {str: TEXT, bytes: BYTES, dict: JSON, list: JSON}


class ResourceOptions(TypedDict, total=False):
    """What can be said of a resource that its function does not say itself: see `Resource`."""

    name: str
    title: str
    description: str
    mime_type: str
    size: int
    icons: Sequence[Icon]
    annotations: Annotations
    meta: Mapping[str, Any]
    watched: bool
    fresh_for: float
    is_public: bool


def function_resource(
    function: Callable[..., Any], uri: str, **options: Unpack[ResourceOptions]
) -> Resource:
    """A function as a resource under a URI, or under all that a template stands for."""
    found = examine(function, "resource", options.get("name"))
    require_known(options, ResourceOptions.__annotations__, found.what)
    texts = Texts(function, found, "resource")
    resource = Resource(
        uri=uri,
        name=found.name,
        title=options.get("title"),
        description=options.get("description", found.words.text),
        mime_type=options.get("mime_type", _mime_type(found.types.get("return"))),
        size=options.get("size"),
        bind=texts.bind,
        invoke=found.awaited(texts.caller()),
        is_async=found.is_async,
        wants_context=texts.wants_context,
        choices=texts.choices(),
        icons=options.get("icons", ()),
        annotations=options.get("annotations"),
        meta=options.get("meta"),
        watched=options.get("watched", False),
        fresh_for=options.get("fresh_for", 0.0),
        is_public=options.get("is_public", False),
    )
    _require_variables(resource, texts, found.what)
    return resource


def _mime_type(hint: Any) -> str | None:
    return _MIME_TYPES.get(getattr(hint, "__origin__", hint))


def _require_variables(resource: Resource, texts: Texts, what: str) -> None:
    given, wanted = set(resource.variables), set(texts.names)
    if unknown := sorted(given - wanted):
        raise ContractError(f"{what} takes no {unknown[0]!r}, which its URI has")
    optional = wanted - set(texts.schema["required"])
    if missing := sorted(wanted - given - optional):
        raise ContractError(f"{what} takes {missing[0]!r}, which its URI does not have")
    template = resource.template
    left_out = set(template.query_names if template else ()) - optional
    if left_out:
        raise ContractError(
            f"{what} needs a default for {sorted(left_out)[0]!r}: a query may lack it"
        )
