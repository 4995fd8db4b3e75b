"""Accord: one response contract for MCP tools. Every tool answer in one shape."""

from accord.answer import Answer, Encoded, FieldError, Notice, Page, Problem
from accord.blocks import Audio, Embedded, Image, Link
from accord.cursors import Cursors
from accord.envelope import Envelope, error_response, success_response
from accord.errors import AccordError, ContractError, PeerError
from accord.server import Server
from accord.telemetry import Telemetry
from accord.tool import Client, Context
from accord.wording import render

__all__ = [
    "AccordError",
    "Answer",
    "Audio",
    "Client",
    "Context",
    "ContractError",
    "Cursors",
    "Embedded",
    "Encoded",
    "Envelope",
    "FieldError",
    "Image",
    "Link",
    "Notice",
    "Page",
    "PeerError",
    "Problem",
    "Server",
    "Telemetry",
    "error_response",
    "render",
    "success_response",
]
