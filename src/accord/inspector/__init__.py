"""A web page to try a server's tools on: forms, calls, and each view of a reply.

Read `target`, then `local_target` (a Server in this process) and `remote_target` (by URL or command
line), then `page` (files, API, and an app without MCP). Scripts: `static/`.
The target is fixed when the page is made; no request can change it.
"""
