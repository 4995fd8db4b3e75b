"""Questions of an upstream on their way to the caller, and the capabilities that allow them."""

from collections.abc import Mapping
from secrets import token_urlsafe
from typing import Any, Final

import msgspec

from accord.errors import PeerError
from accord.model.questions import Capabilities
from accord.revisions import Revision

ELICIT: Final = "elicitation/create"
_CAPABILITY_OF: Final = {
    ELICIT: "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
METHODS: Final = frozenset(_CAPABILITY_OF)
"""Requests that a server may send to its client."""


class ForwardedQuestion(msgspec.Struct, frozen=True):
    """A request of an upstream to its client, which the caller answers."""

    method: str
    given: Mapping[str, Any]
    """The params as received."""

    @property
    def is_page(self) -> bool:
        """True for an elicitation that asks the user to open a page."""
        return self.method == ELICIT and (self.given.get("mode") == "url" or "url" in self.given)

    def lacks(self, capabilities: Capabilities, revision: Revision) -> Mapping[str, Any] | None:
        """Return the capability that the caller lacks for this request; None if it lacks none."""
        name = _CAPABILITY_OF[self.method]
        declared = capabilities.get(name)
        if not isinstance(declared, dict):
            return {name: {}}
        if self.method != ELICIT:
            return None
        if self.is_page:
            can = revision.url_elicitation and "url" in declared
            return None if can else {name: {"url": {}}}
        can = revision.elicitation and ("form" in declared or "url" not in declared)
        can = can and (revision.titled_choices or not _has_many(self.given))
        return None if can else {name: {"form": {}}}

    def params(self, revision: Revision) -> dict[str, Any]:
        """Return the params as a revision has them."""
        params = dict(self.given)
        params.pop("_meta", None)  # its progress token is of another connection
        if self.method != ELICIT:
            return params
        if self.is_page:
            page = {"mode": "url", "elicitationId": params.pop("elicitationId", None)}
            if not revision.elicitation_ids:
                del page["elicitationId"]
            elif page["elicitationId"] is None:
                page["elicitationId"] = token_urlsafe(16)
            return {**params, **page}
        if not revision.titled_choices:
            params.pop("mode", None)
            params["requestedSchema"] = _untitled(params.get("requestedSchema"))
        return params

    def read(self, answer: bytes) -> Any:
        """Return the response as it is."""
        return msgspec.Raw(answer)


def question_of(method: Any, params: Any) -> ForwardedQuestion:
    """Return the question of a request; raise PeerError if it is not one."""
    if method not in METHODS:
        raise PeerError(f"the server sent a request that is not supported: {str(method)[:80]!r}")
    return ForwardedQuestion(method, params if isinstance(params, dict) else {})


def questions_in(result: Mapping[str, Any]) -> Mapping[str, ForwardedQuestion]:
    """Return the questions of a result that asks for input; raise PeerError if it has others."""
    requests = result.get("inputRequests") or {}
    if not isinstance(requests, dict) or not all(isinstance(e, dict) for e in requests.values()):
        raise PeerError("inputRequests must be an object of requests")
    return {
        str(key): question_of(each.get("method"), each.get("params"))
        for key, each in requests.items()
    }


def offered(capabilities: Capabilities, revision: Revision) -> dict[str, Any]:
    """Return the capabilities of a caller that an upstream may use: what it can be asked."""
    found: dict[str, Any] = {}
    if not capabilities:
        return found
    for name in ("elicitation", "sampling", "roots"):
        if isinstance(capabilities.get(name), dict):
            found[name] = capabilities[name]
    if "elicitation" in found:
        found["elicitation"] = _modes(found["elicitation"], revision)
        if not found["elicitation"]:
            del found["elicitation"]
    return found


def _modes(declared: Mapping[str, Any], revision: Revision) -> dict[str, Any]:
    """Return the modes of elicitation that a caller declares, and its revision has."""
    modes = dict(declared) if "form" in declared or "url" in declared else {"form": {}, **declared}
    if not revision.url_elicitation:
        modes.pop("url", None)
    if not revision.elicitation:
        modes.pop("form", None)
    return modes


def _properties(schema: Any) -> Mapping[str, Any]:
    found = schema.get("properties") if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}


def _has_many(params: Mapping[str, Any]) -> bool:
    """True if a form has a field with several choices, which older revisions lack."""
    fields = _properties(params.get("requestedSchema")).values()
    return any(isinstance(each, dict) and each.get("type") == "array" for each in fields)


def _untitled(schema: Any) -> Any:
    """Return a form whose titled choices are `enum` and `enumNames`, as older revisions have it."""
    if not isinstance(schema, dict):
        return schema
    fields = {name: _named_choices(each) for name, each in _properties(schema).items()}
    return {**schema, "properties": fields}


def _named_choices(field: Any) -> Any:
    choices = field.get("oneOf") if isinstance(field, dict) else None
    if not isinstance(choices, list) or not all(isinstance(each, dict) for each in choices):
        return field
    others = {name: each for name, each in field.items() if name != "oneOf"}
    values = [each.get("const") for each in choices]
    return {**others, "enum": values, "enumNames": [str(each.get("title")) for each in choices]}
