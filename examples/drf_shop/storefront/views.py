"""The shop's API."""

from typing import Any

from django.db.models import Count, QuerySet
from django.http import Http404
from django_filters.rest_framework import DjangoFilterBackend
from rest_framework import filters, mixins, permissions, viewsets
from rest_framework.decorators import action
from rest_framework.exceptions import APIException, NotFound
from rest_framework.pagination import LimitOffsetPagination, PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import ScopedRateThrottle
from rest_framework.views import APIView

from accord.django import mcp_tool
from storefront.models import Customer, Item, Order, Product, Status
from storefront.serializers import (
    CustomerSerializer,
    ItemSerializer,
    MessageSerializer,
    OrderSerializer,
    ProductSerializer,
    RefundSerializer,
)


class Conflict(APIException):
    """The request conflicts with the state of the order."""

    status_code = 409
    default_detail = "The order is not paid."
    default_code = "conflict"


class CustomerViewSet(viewsets.ModelViewSet):
    """Customers of the shop."""

    queryset = Customer.objects.all()
    serializer_class = CustomerSerializer
    filter_backends = [DjangoFilterBackend, filters.SearchFilter, filters.OrderingFilter]
    filterset_fields = {"email": ["exact"], "name": ["exact", "istartswith"]}
    search_fields = ["name", "email"]
    ordering_fields = ["name", "email"]

    def get_object(self) -> Customer:
        """Return the customer, or 404 without details."""
        try:
            return super().get_object()
        except Http404:
            raise NotFound from None


class ProductPages(PageNumberPagination):
    """Pages of two products by default."""

    page_size = 2
    page_size_query_param = "page_size"
    max_page_size = 100


class ProductViewSet(viewsets.ModelViewSet):
    """Products, by their SKU."""

    queryset = Product.objects.all()
    serializer_class = ProductSerializer
    permission_classes = [permissions.DjangoModelPermissionsOrAnonReadOnly]
    pagination_class = ProductPages
    filter_backends = [DjangoFilterBackend]
    filterset_fields = ["category"]
    lookup_field = "sku"


class OrderPages(LimitOffsetPagination):
    """Pages of ten orders by default."""

    default_limit = 10


class OrderViewSet(viewsets.ModelViewSet):
    """Orders, for employees."""

    queryset = Order.objects.prefetch_related("items__product")
    serializer_class = OrderSerializer
    permission_classes = [permissions.IsAuthenticated, permissions.DjangoModelPermissions]
    pagination_class = OrderPages
    filter_backends = [DjangoFilterBackend]
    filterset_fields = ["status", "customer"]

    @mcp_tool(name="orders_refund", description="Refund an order")
    @action(detail=True, methods=["post"], serializer_class=RefundSerializer)
    def refund(self, request: Request, pk: str) -> Response:
        """Refund a paid order."""
        order = self.get_object()
        refund = self.get_serializer(data=request.data)
        refund.is_valid(raise_exception=True)
        if order.status != Status.PAID:
            raise Conflict
        order.status = Status.REFUNDED
        order.save()
        return Response({"order": order.pk, "status": order.status, **refund.data})

    @action(detail=False)
    def summary(self, request: Request) -> Response:
        """Count the orders by status."""
        found = Order.objects.values_list("status").annotate(Count("id")).order_by("status")
        return Response(dict(found))


class ItemViewSet(
    mixins.ListModelMixin,
    mixins.CreateModelMixin,
    mixins.DestroyModelMixin,
    viewsets.GenericViewSet,
):
    """Items of one order."""

    serializer_class = ItemSerializer
    permission_classes = [permissions.IsAuthenticated]

    def get_queryset(self) -> QuerySet[Item]:
        """Return the items of the order in the URL."""
        return Item.objects.filter(order=self.kwargs["order_pk"]).select_related("product")

    def perform_create(self, serializer: Any) -> None:
        """Add the item to the order in the URL."""
        if not Order.objects.filter(pk=self.kwargs["order_pk"]).exists():
            raise NotFound
        serializer.save(order_id=self.kwargs["order_pk"])


class ContactViewSet(viewsets.ViewSet):
    """Messages to the shop, limited to a few per hour."""

    permission_classes = [permissions.AllowAny]
    throttle_classes = [ScopedRateThrottle]
    throttle_scope = "contact"

    def create(self, request: Request) -> Response:
        """Send a message to the shop."""
        message = MessageSerializer(data=request.data)
        message.is_valid(raise_exception=True)
        return Response({"received": True}, status=202)

    def list(self, request: Request) -> Response:
        """Return the address of the shop."""
        return Response({"email": "shop@example.com"})


class HealthView(APIView):
    """Health check."""

    permission_classes = [permissions.AllowAny]

    def get(self, request: Request) -> Response:
        """Return the state of the shop."""
        return Response({"open": True, "customers": Customer.objects.count()})
