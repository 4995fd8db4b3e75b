"""A web page to try a server's tools on; its target is fixed, no request can change it.

Read `target`, then `local_target` (a Server in this process) and `remote_target` (by URL or command
line), then `page` (files, API, and an app without MCP). Scripts: `static/`.
"""
