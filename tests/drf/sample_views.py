"""Views of every kind, including broken ones."""

from typing import Any

from django.http import FileResponse, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.urls import include, path, re_path
from rest_framework import generics, mixins, serializers, status, viewsets
from rest_framework.decorators import action, api_view
from rest_framework.exceptions import APIException, Throttled
from rest_framework.pagination import CursorPagination
from rest_framework.parsers import FormParser, MultiPartParser
from rest_framework.permissions import AllowAny, IsAuthenticated
from rest_framework.response import Response
from rest_framework.routers import DefaultRouter, SimpleRouter
from rest_framework.versioning import URLPathVersioning
from rest_framework.views import APIView
from rest_framework_nested.routers import NestedSimpleRouter

from accord.django import endpoint, mcp_tool, mcp_viewset
from storefront.models import Customer, Order, Product
from storefront.serializers import CustomerSerializer, OrderSerializer, ProductSerializer

SECRET = "the password is hunter2"


class Latest(CursorPagination):
    page_size = 2
    ordering = "id"


class Products(viewsets.ReadOnlyModelViewSet):
    """Products, a few at a time."""

    queryset = Product.objects.all()
    serializer_class = ProductSerializer
    pagination_class = Latest


class Clients(viewsets.ModelViewSet):
    """Customers under another name."""

    queryset = Customer.objects.all()
    serializer_class = CustomerSerializer

    @action(detail=True, methods=["get", "post", "delete"], url_path="star/(?P<colour>[a-z]+)")
    def star(self, request: Any, pk: str, colour: str) -> Response:
        """Stars of a customer."""
        return Response({"pk": pk, "colour": colour, "method": request.method})

    @action(detail=False)
    def count(self, request: Any) -> Response:
        return Response(Customer.objects.count())

    @count.mapping.post
    def recount(self, request: Any) -> Response:
        """Count again."""
        return Response(request.data)


class ClientOrders(viewsets.ReadOnlyModelViewSet):
    serializer_class = OrderSerializer

    def get_queryset(self) -> Any:
        return Order.objects.filter(customer=self.kwargs["client_pk"])


@mcp_viewset(actions=["list", "retrieve"], name="chosen")
class Picked(viewsets.ModelViewSet):
    queryset = Customer.objects.all()
    serializer_class = CustomerSerializer

    @mcp_tool(name="pick.one", title="Pick", description="Pick somebody")
    @action(detail=False, methods=["post"])
    def pick(self, request: Any) -> Response:
        return Response({"picked": request.data})


class Faults(viewsets.ViewSet):
    """Actions that fail."""

    permission_classes = [AllowAny]

    @action(detail=False)
    def bug(self, request: Any) -> Response:
        raise RuntimeError(SECRET)

    @action(detail=False)
    def meant(self, request: Any) -> Response:
        raise APIException("The printer is on fire")

    @action(detail=False)
    def busy(self, request: Any) -> Response:
        return Response({"detail": "Later"}, status=503, headers={"Retry-After": "7"})

    @action(detail=False)
    def gone(self, request: Any) -> HttpResponse:
        return HttpResponse("<h1>Gone</h1>", status=410)

    @action(detail=False)
    def wait(self, request: Any) -> Response:
        raise Throttled(wait=3)

    @action(detail=False, methods=["post"])
    def deep(self, request: Any) -> Response:
        errors = {"a": [{}, {"b": ["no", "never"]}], "non_field_errors": ["at all"], "c": "plain"}
        raise serializers.ValidationError(errors)

    @action(detail=False)
    def listed(self, request: Any) -> Response:
        raise serializers.ValidationError({"size": ["Enter a number."]})

    @action(detail=False)
    def refused(self, request: Any) -> Response:
        return self.http_method_not_allowed(request)


class Shapes(viewsets.ViewSet):
    """Responses that are not JSON."""

    permission_classes = [AllowAny]

    @action(detail=False)
    def text(self, request: Any) -> HttpResponse:
        return HttpResponse("Zoë", content_type="text/plain; charset=utf-8")

    @action(detail=False)
    def picture(self, request: Any) -> HttpResponse:
        return HttpResponse(b"\x89PNG", content_type="image/png")

    @action(detail=False)
    def sound(self, request: Any) -> HttpResponse:
        return HttpResponse(b"RIFF", content_type="audio/wav")

    @action(detail=False)
    def file(self, request: Any) -> FileResponse:
        from io import BytesIO

        return FileResponse(BytesIO(b"%PDF"), content_type="application/pdf")

    @action(detail=False)
    def stream(self, request: Any) -> StreamingHttpResponse:
        return StreamingHttpResponse([b"[1,", b"2]"], content_type="application/json")

    @action(detail=False)
    def elsewhere(self, request: Any) -> HttpResponse:
        return HttpResponseRedirect("/there/")

    @action(detail=False)
    def nothing(self, request: Any) -> Response:
        return Response(status=status.HTTP_204_NO_CONTENT)

    @action(detail=False)
    def query(self, request: Any) -> Response:
        return Response({name: request.query_params.getlist(name) for name in request.query_params})

    @action(detail=False)
    def headers(self, request: Any) -> Response:
        return Response(dict(request.headers))


class Upload(serializers.Serializer):
    title = serializers.CharField()
    scan = serializers.FileField()
    tags = serializers.ListField(child=serializers.CharField(), required=False)


class Uploads(viewsets.GenericViewSet):
    serializer_class = Upload
    permission_classes = [AllowAny]
    parser_classes = [MultiPartParser]

    def create(self, request: Any) -> Response:
        upload = self.get_serializer(data=request.data)
        upload.is_valid(raise_exception=True)
        scan = upload.validated_data["scan"]
        kept = {name: value for name, value in upload.validated_data.items() if name != "scan"}
        return Response(
            {**kept, "name": scan.name, "type": scan.content_type, "content": scan.read().decode()}
        )


class Forms(viewsets.ViewSet):
    permission_classes = [AllowAny]
    parser_classes = [FormParser]

    def create(self, request: Any) -> Response:
        return Response(request.data.dict())


class Unready(viewsets.ModelViewSet):
    """A viewset that cannot be inspected without a request."""

    def get_queryset(self) -> Any:
        raise RuntimeError("ask me in a request")

    def get_serializer_class(self) -> Any:
        raise RuntimeError("ask me in a request")

    def list(self, request: Any) -> Response:
        return Response([])


class Versioned(viewsets.ReadOnlyModelViewSet):
    queryset = Customer.objects.all()
    serializer_class = CustomerSerializer
    versioning_class = type(
        "Versions",
        (URLPathVersioning,),
        {"default_version": "v1", "allowed_versions": ["v1", "v2"]},
    )

    def list(self, request: Any, version: str) -> Response:
        return Response({"version": request.version})


class Report(APIView):
    permission_classes = [IsAuthenticated]

    def get(self, request: Any, year: int, month: int | None = None) -> Response:
        """What was sold."""
        return Response({"year": year, "month": month})


class Everybody(generics.ListCreateAPIView):
    queryset = Customer.objects.all()
    serializer_class = CustomerSerializer


class OwnPage(mixins.ListModelMixin, viewsets.GenericViewSet):
    queryset = Customer.objects.all()
    serializer_class = CustomerSerializer

    def list(self, request: Any) -> Response:
        return Response({"mine": True})


@api_view(["GET", "POST"])
def greet(request: Any) -> Response:
    """Say hello."""
    return Response({"hello": request.method})


class Async(APIView):
    """A view that is async, as Django has them and the REST framework's own are not."""

    permission_classes = [AllowAny]

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        plain = super().as_view(**initkwargs)

        async def view(request: Any, *args: Any, **kwargs: Any) -> Any:
            from asgiref.sync import sync_to_async

            return await sync_to_async(plain)(request, *args, **kwargs)

        view.cls, view.initkwargs, view.csrf_exempt = cls, initkwargs, True  # type: ignore[attr-defined]
        return view

    def get(self, request: Any) -> Response:
        """Say where it runs."""
        return Response({"async": True})


class Unnamed(viewsets.ViewSet):
    """At a URL that cannot be written by name."""

    def list(self, request: Any, anything: str) -> Response:
        return Response([])


router = DefaultRouter()
router.register("products", Products)
router.register("clients", Clients, basename="client")
router.register("picked", Picked, basename="picked")
router.register("faults", Faults, basename="fault")
router.register("shapes", Shapes, basename="shape")
router.register("uploads", Uploads, basename="upload")
router.register("forms", Forms, basename="form")
router.register("unready", Unready, basename="unready")
router.register("own-page", OwnPage, basename="own")
nested = NestedSimpleRouter(router, "clients", lookup="client")
nested.register("orders", ClientOrders, basename="client-orders")
versioned = SimpleRouter()
versioned.register("things", Versioned, basename="thing")

urlpatterns = [
    path("api/", include(router.urls)),
    path("api/", include(nested.urls)),
    re_path(r"^(?P<version>v[0-9]+)/", include(versioned.urls)),
    re_path(r"^reports/(?P<year>[0-9]{4})/(?:(?P<month>[0-9]+)/)?$", Report.as_view()),
    path("everybody/", Everybody.as_view()),
    path("greet/", greet),
    path("async/", Async.as_view()),
    re_path(r"^anonymous_request/([a-z]+)/$", Unnamed.as_view({"get": "list"})),
    path("mcp/", endpoint()),
]
