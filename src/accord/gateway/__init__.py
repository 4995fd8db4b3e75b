"""Foreign servers as one more kind of source: a gateway for clients of any revision.

    server.include(upstream("npx -y @modelcontextprotocol/server-filesystem /data"), "fs_")

Read `server` first (`Gateway`: names, lists and features), then `upstreams` (one foreign server:
its connections and lists), `requests` (what callers send to it), `watches` (the resources whose
changes clients want), `link` (one connection), `calls` and `questions` (a request on its way, and
what is asked meanwhile). `features`, `repair` and `faults` convert entries, results and errors;
`spec` and `names` are plain data.
"""

from accord.gateway.server import Gateway, upstream
from accord.gateway.spec import OAuthClient, UpstreamOptions, UpstreamSpec, spec_of

__all__ = ["Gateway", "OAuthClient", "UpstreamOptions", "UpstreamSpec", "spec_of", "upstream"]
