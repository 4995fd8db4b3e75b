"""Whom a view serves, in words."""

from typing import Any, Final

from rest_framework import permissions

_ANYBODY: Final = "anybody"
_JOINED: Final = {permissions.AND: " and ", permissions.OR: " or "}


def audience_of(view: Any) -> str:
    """The permissions of a view, as a person would say them."""
    named = [_named(each) for each in view.get_permissions()]
    return " and ".join(name for name in named if name != _ANYBODY) or _ANYBODY


def _named(permission: Any) -> str:
    joint = _JOINED.get(type(permission))
    if joint is not None:
        return f"({_named(permission.op1)}{joint}{_named(permission.op2)})"
    if isinstance(permission, permissions.NOT):
        return f"not {_named(permission.op1)}"
    if isinstance(permission, permissions.AllowAny):
        return _ANYBODY
    return type(permission).__name__
