"""The `accord` command: `main` parses the command line, each verb is the module of that name.

Shared by the verbs: `targets` and `databases` (what a target is), `options`, `remote` (remote
servers), `terminal` and `logs` (what is printed).
"""

from accord.cli.main import main

__all__ = ["main"]
