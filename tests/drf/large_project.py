"""A large project: 16 viewsets with 6 actions each and nested serializers, and 3 more actions."""

from typing import Any

from rest_framework import filters, serializers, viewsets
from rest_framework.decorators import action
from rest_framework.pagination import PageNumberPagination
from rest_framework.permissions import AllowAny
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter

from storefront.models import Customer

COUNTRIES = [(code, code) for code in "AT BE CH CZ DE DK ES FI FR IE IT LU NL NO PL PT SE".split()]
STATES = ["draft", "open", "confirmed", "shipped", "delivered", "returned", "cancelled"]
NAMES = (
    "accounts adjustments audits batches bookings campaigns contracts deliveries invoices"
    " locations payments projects quotes shipments suppliers tickets"
).split()


class Address(serializers.Serializer):
    street = serializers.CharField(max_length=200, help_text="Street and number")
    extra = serializers.CharField(max_length=200, required=False, allow_blank=True)
    postcode = serializers.RegexField(r"^[A-Z0-9 -]{3,10}$", help_text="Without the country")
    city = serializers.CharField(max_length=100)
    country = serializers.ChoiceField(COUNTRIES)
    latitude = serializers.FloatField(min_value=-90, max_value=90, required=False)
    longitude = serializers.FloatField(min_value=-180, max_value=180, required=False)


class Contact(serializers.Serializer):
    name = serializers.CharField(max_length=100)
    email = serializers.EmailField()
    phone = serializers.CharField(max_length=30, required=False, allow_null=True)
    address = Address(required=False)


class Line(serializers.Serializer):
    id = serializers.IntegerField(read_only=True)
    product = serializers.SlugField(help_text="The SKU of the product")
    quantity = serializers.IntegerField(min_value=1, max_value=10_000)
    price = serializers.DecimalField(max_digits=10, decimal_places=2)
    discount = serializers.DecimalField(max_digits=4, decimal_places=2, required=False)
    total = serializers.DecimalField(max_digits=12, decimal_places=2, read_only=True)


class Entry(serializers.Serializer):
    id = serializers.IntegerField(read_only=True)
    number = serializers.CharField(read_only=True)
    title = serializers.CharField(max_length=200, help_text="One line that says what it is about")
    note = serializers.CharField(required=False, allow_blank=True)
    state = serializers.ChoiceField(STATES, default="draft")
    priority = serializers.IntegerField(min_value=0, max_value=9, default=5)
    owner = serializers.PrimaryKeyRelatedField(queryset=Customer.objects.all())
    watchers = serializers.PrimaryKeyRelatedField(
        queryset=Customer.objects.all(), many=True, required=False
    )
    due = serializers.DateField(required=False, allow_null=True)
    created = serializers.DateTimeField(read_only=True)
    changed = serializers.DateTimeField(read_only=True)
    tags = serializers.ListField(child=serializers.CharField(max_length=30), required=False)
    sender = Contact()
    recipient = Contact(required=False, allow_null=True)
    billing_address = Address(required=False)
    lines = Line(many=True)
    paid = serializers.BooleanField(read_only=True)
    external_id = serializers.UUIDField(required=False)
    link = serializers.URLField(read_only=True)


class Pages(PageNumberPagination):
    page_size = 50
    page_size_query_param = "page_size"


class Entries(viewsets.ModelViewSet):
    queryset = Customer.objects.all()
    serializer_class = Entry
    permission_classes = [AllowAny]
    pagination_class = Pages
    filter_backends = [filters.SearchFilter, filters.OrderingFilter]
    search_fields = ["name", "email"]
    ordering_fields = ["name", "email"]


class Archive(Entries):
    @action(detail=True, methods=["post"])
    def close(self, request: Any, pk: str) -> Response:
        """Close the entry."""
        return Response({})

    @action(detail=True, methods=["post"])
    def reopen(self, request: Any, pk: str) -> Response:
        """Open a closed entry."""
        return Response({})

    @action(detail=False)
    def summary(self, request: Any) -> Response:
        """Count the entries by state."""
        return Response({})


router = SimpleRouter()
for name in NAMES:
    base: type[Entries] = Archive if name == "audits" else Entries
    router.register(name, type(f"{name.title()}ViewSet", (base,), {}), basename=name)
