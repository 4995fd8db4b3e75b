"""The stage and the workshop under limits of their own: `python -m serve.http.limited <settings>`."""

import json
import sys

from accord.serve.http import listen
from accord.server.combined import combine
from serve import workshop
from serve.http import stage

if __name__ == "__main__":
    listen.serve(
        combine({"workshop": workshop.server, "stage": stage.server}),
        listen.Address.parse("127.0.0.1:0"),
        listen.Settings(**json.loads(sys.argv[1])),
        ready=lambda url: print(f"limited: MCP at {url}", file=sys.stderr),
    )
