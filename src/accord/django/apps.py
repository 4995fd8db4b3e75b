"""The app, for INSTALLED_APPS: it brings `manage.py mcp` and checks the endpoints at start."""

from django.apps import AppConfig
from django.core.checks import register


class AccordConfig(AppConfig):  # type: ignore[misc]  # Django has no types
    """`accord.django` in INSTALLED_APPS."""

    name = "accord.django"
    label = "accord"
    verbose_name = "Accord"

    def ready(self) -> None:
        """Have `manage.py check`, and so every start, look at the endpoints."""
        from accord.django.checks import check_endpoints

        register(check_endpoints, "urls")
