"""The Django app config: adds `manage.py mcp` and a system check of the endpoints."""

from django.apps import AppConfig
from django.core.checks import register


class AccordConfig(AppConfig):  # type: ignore[misc]  # Django has no types
    """App config of `accord.django`."""

    name: str = "accord.django"
    label: str = "accord"
    verbose_name: str = "Accord"

    def ready(self) -> None:
        """Register the system check of the endpoints."""
        from accord.django.project import check_endpoints

        register(check_endpoints, "urls")
