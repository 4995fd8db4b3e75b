"""MCP over HTTP: an ASGI app with no framework in the way of a call.

Read `app`, `exchange`, `execution`, `shared_sessions`, `sessions`, `session_id`; `listen` and
`connection` serve the app with uvicorn. Of several workers, `supervisor` starts them, `worker` is
the side of one, `siblings` links them, and `balance` shares connections evenly.
"""

from accord.serve.http.app import App
from accord.serve.http.settings import Settings, SettingsDict

__all__ = ["App", "Settings", "SettingsDict"]
