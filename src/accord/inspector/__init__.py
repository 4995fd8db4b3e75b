"""A web page to look at a server with: its tools, a call, and every way to see the answer.

`page.Page` stands beside MCP on a server of ours (`own.Own`), or `alone.Alone` for somebody else's
(`others.Others`). What it looks at is fixed when it is made, and no request can change that.
"""
