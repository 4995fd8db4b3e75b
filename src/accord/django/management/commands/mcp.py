"""`manage.py mcp`: serve the project's tools over stdio, or list them."""

import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from accord.django import project
from accord.errors import ContractError, LifespanError
from accord.profiles import PROFILES
from accord.serve import stdio
from accord.serve.pipes import take_pipes
from accord.serve.shutdown import exit_within
from accord.sources.drf.build import ExposedTool


class Command(BaseCommand):  # type: ignore[misc]  # Django has no types
    """Serve MCP over stdio, as every MCP client starts a server."""

    help = "Serve the project's API as MCP tools over stdio, or list them."
    requires_system_checks: tuple[str, ...] = ()  # their warnings would be repeated here

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the command's options."""
        parser.add_argument("--user", metavar="NAME", help="act as this user; default: anonymous")
        parser.add_argument("--list", action="store_true", help="show what is exposed, and to whom")
        parser.add_argument("--profile", choices=list(PROFILES), help="how answers are rendered")

    def handle(self, *_: Any, **options: Any) -> None:
        """Serve until stdin ends."""
        user = None if options["user"] is None else _user(options["user"])
        try:
            if options["list"]:
                self._list(user)
                self.stdout.flush()
                return
            server = project.server(user)
            server.configure(profile=options["profile"])
        except ContractError as error:
            raise CommandError(str(error)) from error
        except BrokenPipeError:  # the reader of the list has closed the pipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        try:
            stdio.serve(server, take_pipes(), on_end=exit_within)
        except (ContractError, LifespanError) as error:
            raise CommandError(str(error)) from error

    def _list(self, user: Any) -> None:
        found = project.exposed_tools(user)
        filters = {a: a(None) for a in dict.fromkeys(each.tool.audience for each in found) if a}
        for each in found:
            is_allowed = filters[each.tool.audience] if each.tool.audience else None
            refused = user is not None and is_allowed is not None and not is_allowed(each.tool.name)
            self.stdout.write(f"{each.tool.name}{' (not for this user)' if refused else ''}")
            for label, text in _lines(each):
                self.stdout.write(f"    {label:6} {text}")


def _user(name: str) -> Any:
    model = get_user_model()
    try:
        return model._default_manager.get_by_natural_key(name)
    except model.DoesNotExist:
        raise CommandError(f"user {name!r} does not exist") from None


def _lines(each: ExposedTool) -> list[tuple[str, str]]:
    """Return a tool's permissions and parameters as labelled lines."""
    lines = [("for", each.permissions)]
    for part, schema in each.tool.input_schema["properties"].items():
        required = schema.get("required", ())
        names = [n if n in required else f"{n}?" for n in schema.get("properties", ())]
        if names:
            lines.append((part, ", ".join(names)))
    return lines
