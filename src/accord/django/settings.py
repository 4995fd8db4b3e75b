"""The setting DJANGORESTFRAMEWORK_MCP, as django-rest-framework-mcp has it."""

from typing import Any, Final

from django.conf import settings

_NAME: Final = "DJANGORESTFRAMEWORK_MCP"
DEFAULTS: Final[dict[str, Any]] = {
    "BYPASS_VIEWSET_AUTHENTICATION": False,
    "BYPASS_VIEWSET_PERMISSIONS": False,
    "RETURN_200_FOR_ERRORS": False,
    "ACTION_FIRST_NAMES": False,
}
"""The first three are those of django-rest-framework-mcp."""


class MCPSettings:
    """The members of the setting as attributes, read on each use."""

    @property
    def user_settings(self) -> dict[str, Any]:
        """The members that the project sets."""
        given: dict[str, Any] = getattr(settings, _NAME, None) or {}
        return given

    def __getattr__(self, name: str) -> Any:
        if name not in DEFAULTS:
            raise AttributeError(f"{_NAME} has no member {name!r}; there are {', '.join(DEFAULTS)}")
        return self.user_settings.get(name, DEFAULTS[name])

    def unknown(self) -> list[str]:
        """Return the names that the project sets and that have no meaning."""
        return sorted(self.user_settings.keys() - DEFAULTS.keys())


mcp_settings: Final = MCPSettings()
