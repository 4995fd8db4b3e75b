"""A Django project in one file, without a database: settings, URLs, and one viewset."""

from typing import Any

SECRET_KEY = "for the tests alone"
ROOT_URLCONF = __name__
ALLOWED_HOSTS = ["localhost"]
INSTALLED_APPS = ["rest_framework"]
REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "UNAUTHENTICATED_USER": None,
}


def __getattr__(name: str) -> Any:
    """The URLs, once there are settings to make them by."""
    if name != "urlpatterns":
        raise AttributeError(name)
    from rest_framework import serializers
    from rest_framework.exceptions import NotFound
    from rest_framework.response import Response
    from rest_framework.routers import SimpleRouter
    from rest_framework.viewsets import GenericViewSet

    alice = {"id": 1, "name": "Alice", "email": "alice@example.com"}

    class Customer(serializers.Serializer):
        id = serializers.IntegerField(read_only=True)
        name = serializers.CharField()
        email = serializers.EmailField()

    class Customers(GenericViewSet):
        """Customers, of whom there is one."""

        serializer_class = Customer

        def list(self, request: Any) -> Response:
            """All customers."""
            if request.query_params.get("page", "1") != "1":
                raise NotFound("Invalid page.")
            return Response([alice])

        def retrieve(self, request: Any, pk: str) -> Response:
            """One customer."""
            if pk != "1":
                raise NotFound
            return Response(alice)

        def create(self, request: Any) -> Response:
            """A further customer."""
            customer = self.get_serializer(data=request.data)
            customer.is_valid(raise_exception=True)
            return Response({"id": 2, **customer.validated_data}, status=201)

        def destroy(self, request: Any, pk: str) -> Response:
            """One customer less."""
            if pk != "1":
                raise NotFound
            return Response(status=204)

    router = SimpleRouter()
    router.register("customers", Customers, basename="customer")
    return router.urls
