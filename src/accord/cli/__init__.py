"""The `accord` command: one file a verb."""

from accord.cli.main import main

__all__ = ["main"]
