"""Accord: one response contract for MCP tools. Every tool answer in one shape."""

from accord.answer import Answer, Encoded, FieldError, Notice, Page, Problem
from accord.blocks import Audio, Embedded, Image, Link
from accord.errors import AccordError, ContractError, PeerError
from accord.server import Server
from accord.tool import Client, Context

__all__ = [
    "AccordError",
    "Answer",
    "Audio",
    "Client",
    "Context",
    "ContractError",
    "Embedded",
    "Encoded",
    "FieldError",
    "Image",
    "Link",
    "Notice",
    "Page",
    "PeerError",
    "Problem",
    "Server",
]
