"""URLs of an endpoint with the decorated viewsets, to include in those of a project."""

from django.urls import URLPattern, path

from accord.django.views import MCPView

urlpatterns: list[URLPattern] = [path("", MCPView.as_view(), name="mcp-endpoint")]
