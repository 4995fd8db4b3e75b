"""Serves the workshop with limits from the command line: `limited.py '{"threads": 1}'`."""

import json
import sys

from accord.serve.pipes import take_pipes
from accord.serve.stdio import Settings, serve
from serve.workshop import server

serve(server, take_pipes(), Settings(**json.loads(sys.argv[1])))
