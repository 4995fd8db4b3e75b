"""Serializers of the shop."""

from typing import Any

from rest_framework import serializers

from storefront.models import Customer, Item, Order, Product


class CustomerSerializer(serializers.ModelSerializer):
    """A customer."""

    class Meta:
        model = Customer
        fields = ["id", "name", "email"]


class ProductSerializer(serializers.ModelSerializer):
    """A product."""

    class Meta:
        model = Product
        fields = ["sku", "name", "price", "category", "photo"]


class ItemSerializer(serializers.ModelSerializer):
    """A product in an order, by its SKU."""

    product = serializers.SlugRelatedField(slug_field="sku", queryset=Product.objects.all())

    class Meta:
        model = Item
        fields = ["id", "product", "quantity"]


class OrderSerializer(serializers.ModelSerializer):
    """An order with its items."""

    items = ItemSerializer(many=True)

    class Meta:
        model = Order
        fields = ["id", "customer", "status", "note", "items"]
        read_only_fields = ["status"]

    def create(self, validated_data: dict[str, Any]) -> Order:
        """Create the order, then its items."""
        items = validated_data.pop("items")
        order = super().create(validated_data)
        Item.objects.bulk_create(Item(order=order, **item) for item in items)
        return order

    def update(self, instance: Order, validated_data: dict[str, Any]) -> Order:
        """Ignore items; they have their own endpoint."""
        validated_data.pop("items", None)
        return super().update(instance, validated_data)


class RefundSerializer(serializers.Serializer):
    """The reason for a refund."""

    reason = serializers.CharField(max_length=200)
    code = serializers.CharField(write_only=True, required=False, allow_blank=True)


class MessageSerializer(serializers.Serializer):
    """A message to the shop."""

    email = serializers.EmailField()
    text = serializers.CharField(min_length=3)
