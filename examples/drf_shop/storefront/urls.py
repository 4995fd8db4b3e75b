"""URLs of the API and of the MCP endpoint."""

from django.urls import include, path
from rest_framework.routers import DefaultRouter

from accord.django import endpoint
from storefront import views

router = DefaultRouter()
router.register("customers", views.CustomerViewSet)
router.register("products", views.ProductViewSet)
router.register("orders", views.OrderViewSet)
router.register(r"orders/(?P<order_pk>[0-9]+)/items", views.ItemViewSet, basename="item")
router.register("contact", views.ContactViewSet, basename="contact")

urlpatterns = [
    path("api/", include(router.urls)),
    path("api/health/", views.HealthView.as_view()),
    path("mcp/", endpoint()),
]
