"""The example's URLs, and beside them a peer's endpoint for the same list."""

from django.urls import include, path

from storefront.urls import urlpatterns as own
from storefront.views import CustomerViewSet

MISSING: str | None = None
urlpatterns = list(own)

try:
    from djangorestframework_mcp.registry import registry

    registry.register_viewset(CustomerViewSet, ["list"], "customers")
    urlpatterns.append(path("peer/", include("djangorestframework_mcp.urls")))
except ImportError as error:
    MISSING = str(error)
