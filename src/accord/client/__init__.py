"""A client of any MCP server: in this process, started by a command line, or at a URL.

    async with Client(server) as client:
        reading = await client.call_tool("add", {"a": 2, "b": 3})

A URL needs the extra `accord-mcp[connect]`. Read `client`, then `peer`, which returns raw replies,
`session`, and the transports: `inprocess`, `stdio` and `http` (on `sse`; `authorization` has its
tokens). `input_requests`, `entries`, `subscription` and `tasks` hold what the client gives and
takes.
"""

import typing

from accord.client.callbacks import OnProgress
from accord.client.client import Client, OnLog
from accord.client.entries import (
    Listing,
    PromptInfo,
    PromptResult,
    ResourceInfo,
    TemplateInfo,
    ToolInfo,
)
from accord.client.input_requests import ElicitRequest, OnElicit, OnSample, SampleRequest
from accord.client.messages import Disconnected, Reply, TimedOut
from accord.client.subscription import Subscription
from accord.client.tasks import ClientTask, OnStatus, TaskStatus
from accord.model.changes import ListChanged, Updated
from accord.protocol.messages import LogMessage

if typing.TYPE_CHECKING:
    from accord.auth.sign_in import Auth, AuthRequest, ClientCredentials, SignIn

__all__ = [
    "Auth",
    "AuthRequest",
    "Client",
    "ClientCredentials",
    "ClientTask",
    "Disconnected",
    "ElicitRequest",
    "ListChanged",
    "Listing",
    "LogMessage",
    "OnElicit",
    "OnLog",
    "OnProgress",
    "OnSample",
    "OnStatus",
    "PromptInfo",
    "PromptResult",
    "Reply",
    "ResourceInfo",
    "SampleRequest",
    "SignIn",
    "Subscription",
    "TaskStatus",
    "TemplateInfo",
    "TimedOut",
    "ToolInfo",
    "Updated",
]

if not typing.TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> object:
        """Import what signs in on first use."""
        if name not in ("Auth", "AuthRequest", "ClientCredentials", "SignIn"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from accord.auth import sign_in

        return getattr(sign_in, name)
