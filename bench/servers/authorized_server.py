"""Accord with a verifier of tokens; the environment names the issuer."""

import os

from accord import TokenVerifier
from bench.servers.accord_server import server
from bench.servers.data import AUDIENCE

server.auth = TokenVerifier(os.environ["BENCH_ISSUER"], AUDIENCE)
