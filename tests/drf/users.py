"""Users of the shop, and their credentials."""

from collections.abc import Mapping
from typing import Any

TOKENS = {"visitor": "visitors-token", "clerk": "clerks-token", "fired": "an-old-token"}
CREDENTIALS: Mapping[str, dict[str, str]] = {
    "anonymous": {},
    "visitor": {"Authorization": "Token visitors-token"},
    "clerk": {"Authorization": "Token clerks-token"},
    "fired": {"Authorization": "Token an-old-token"},
    "stranger": {"Authorization": "Token unknown"},
}
"""Headers of each user: without permissions, with all, deactivated, unknown."""


def create_users() -> None:
    """Create the users."""
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
