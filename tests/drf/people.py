"""Who comes to the shop, and how each of them is known."""

from collections.abc import Mapping
from typing import Any

TOKENS = {"visitor": "visitors-token", "clerk": "clerks-token", "fired": "an-old-token"}
CREDENTIALS: Mapping[str, dict[str, str]] = {
    "nobody": {},
    "visitor": {"Authorization": "Token visitors-token"},
    "clerk": {"Authorization": "Token clerks-token"},
    "fired": {"Authorization": "Token an-old-token"},
    "stranger": {"Authorization": "Token of-nobody"},
}
"""The headers of each: one without permissions, one with all, one who was let go, one unknown."""


def hire() -> None:
    """Make the users."""
    from django.contrib.auth.models import Permission, User
    from rest_framework.authtoken.models import Token

    for name, key in TOKENS.items():
        user = User.objects.create_user(name, password=name, is_active=name != "fired")
        Token.objects.create(user=user, key=key)
    clerk = User.objects.get(username="clerk")
    clerk.user_permissions.set(Permission.objects.all())


def user(name: str) -> Any:
    """One of them."""
    from django.contrib.auth.models import User

    return User.objects.get(username=name)
