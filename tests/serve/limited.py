"""Serves the workshop with limits from the command line: `limited.py '{"threads": 1}'`."""

import json
import sys

from accord.serve.pipes import protected_pipes
from accord.serve.stdio import Settings, serve
from workshop import server

with protected_pipes() as pipes:
    serve(server, pipes, Settings(**json.loads(sys.argv[1])))
