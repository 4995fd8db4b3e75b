"""A gateway to serve in a process: its upstream and the revision to use are in the environment."""

import json
import os

from accord.gateway import Gateway, spec_of

server = Gateway(
    [
        spec_of(
            json.loads(os.environ["GATEWAY_TARGET"]),
            name="sample",
            revision=os.environ.get("GATEWAY_REVISION"),
        )
    ]
).server
