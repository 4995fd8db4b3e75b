"""MCP over HTTP: an ASGI app with no framework in the way of a call."""

from accord.serve.http.app import App
from accord.serve.http.settings import Settings, SettingsDict

__all__ = ["App", "Settings", "SettingsDict"]
