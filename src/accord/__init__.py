"""MCP servers with one response contract, and a reader for the replies of any MCP server."""

import typing

from accord.errors import (
    AccordError,
    ContractError,
    LifespanError,
    MCPError,
    PeerError,
    SignInError,
    SignInRequired,
)
from accord.model.answer import Answer, Encoded, FieldError, Notice, Page, Problem
from accord.model.caller import Caller
from accord.model.completion import Completion
from accord.model.content import Annotations, Audio, Embedded, Icon, Image, Link, Message
from accord.model.context import ClientInfo, Context
from accord.model.envelope import Envelope, error_response, success_response
from accord.model.questions import Elicit, Elicited, ElicitURL, ListRoots, Root, Sample, Sampled
from accord.protocol.header_params import Header
from accord.server import Server
from accord.server.rendering import render
from accord.signing import Cursors
from accord.sources.functions.dependencies import Depends
from accord.telemetry import Telemetry

if typing.TYPE_CHECKING:
    from accord.auth import TokenVerifier
    from accord.client import Client, ClientCredentials, ElicitRequest, SampleRequest, SignIn
    from accord.gateway import upstream
    from accord.pages import read_all
    from accord.reader import Reading, read

__all__ = [
    "AccordError",
    "Annotations",
    "Answer",
    "Audio",
    "Caller",
    "Client",
    "ClientCredentials",
    "ClientInfo",
    "Completion",
    "Context",
    "ContractError",
    "Cursors",
    "Depends",
    "Elicit",
    "ElicitRequest",
    "ElicitURL",
    "Elicited",
    "Embedded",
    "Encoded",
    "Envelope",
    "FieldError",
    "Header",
    "Icon",
    "Image",
    "LifespanError",
    "Link",
    "ListRoots",
    "MCPError",
    "Message",
    "Notice",
    "Page",
    "PeerError",
    "Problem",
    "Reading",
    "Root",
    "Sample",
    "SampleRequest",
    "Sampled",
    "Server",
    "SignIn",
    "SignInError",
    "SignInRequired",
    "Telemetry",
    "TokenVerifier",
    "error_response",
    "read",
    "read_all",
    "render",
    "success_response",
    "upstream",
]

_LATER = {
    "Client": "accord.client",
    "ClientCredentials": "accord.client",
    "ElicitRequest": "accord.client",
    "Reading": "accord.reader",
    "SampleRequest": "accord.client",
    "SignIn": "accord.client",
    "TokenVerifier": "accord.auth",
    "read": "accord.reader",
    "read_all": "accord.pages",
    "upstream": "accord.gateway",
}

if not typing.TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> object:
        """Import the client, the reader and verifiers on first use: they take long to import."""
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        found = globals()[name] = getattr(import_module(_LATER[name]), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
