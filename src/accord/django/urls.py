"""URLs of an endpoint with the decorated viewsets, to include in those of a project."""

from django.urls import path

from accord.django.views import MCPView

urlpatterns = [path("", MCPView.as_view(), name="mcp-endpoint")]
