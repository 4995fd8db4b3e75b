"""The example project's URLs, and the endpoint of django-rest-framework-mcp for the same list."""

from django.urls import include, path

from storefront.urls import urlpatterns as project_patterns
from storefront.views import CustomerViewSet

MISSING: str | None = None
urlpatterns = list(project_patterns)

try:
    from djangorestframework_mcp.registry import registry

    registry.register_viewset(CustomerViewSet, ["list"], "customers")
    urlpatterns.append(path("peer/", include("djangorestframework_mcp.urls")))
except ImportError as error:
    MISSING = str(error)
