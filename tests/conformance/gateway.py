"""A gateway in front of the server for the conformance suite."""

import os
import sys
from pathlib import Path

from accord.gateway import Gateway, spec_of

COMMAND = [str(Path(sys.executable).with_name("accord")), "serve"]
SERVER = str(Path(__file__).with_name("server.py"))

server = Gateway(
    [
        spec_of(
            os.environ.get("CONFORMANCE_URL") or [*COMMAND, SERVER],
            name="conformance",
            revision=os.environ.get("CONFORMANCE_REVISION"),
        )
    ]
).server
