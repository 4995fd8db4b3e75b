"""Serves sample servers with settings that `accord serve` has no options for.

`python -m samples.launch stdio|http SETTINGS SERVER...`: the settings of the transport as JSON, then
servers such as `features:progress`; several are combined into one.
"""

import importlib
import json
import sys

from accord import Server
from accord.serve import stdio
from accord.serve.pipes import take_pipes
from accord.server import combine


def load(target: str) -> Server:
    """Return a server of `features` or `faulty`."""
    module, _, name = target.partition(":")
    server: Server = getattr(importlib.import_module(f"samples.{module}"), name)
    return server


def main(transport: str, settings: str, *targets: str) -> None:
    server = combine({target: load(target) for target in targets})
    if transport == "stdio":
        stdio.serve(server, take_pipes(), stdio.Settings(**json.loads(settings)))
        return
    from accord.serve.http import listen

    listen.serve(
        server,
        listen.Address.parse("127.0.0.1:0"),
        listen.Settings(**json.loads(settings)),
        ready=lambda url: print(f"samples: MCP at {url}", file=sys.stderr),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
