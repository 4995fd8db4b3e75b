"""Customers, products, and orders of them."""

from django.core.validators import MinValueValidator, RegexValidator
from django.db import models


class Customer(models.Model):
    """A customer of the shop."""

    name = models.CharField(max_length=100)
    email = models.EmailField(unique=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name


class Category(models.TextChoices):
    """Product categories."""

    HOME = "home", "Home"
    LAB = "lab", "Laboratory"


class Product(models.Model):
    """A product with its SKU and price."""

    sku = models.CharField(
        max_length=12,
        unique=True,
        validators=[RegexValidator(r"^[A-Z]{2}-[0-9]+\Z")],
        help_text="Two letters and a number: EN-1",
    )
    name = models.CharField(max_length=100)
    price = models.DecimalField(max_digits=8, decimal_places=2, validators=[MinValueValidator(0)])
    category = models.CharField(max_length=10, choices=Category.choices, default=Category.HOME)
    photo = models.FileField(upload_to="photos", null=True, blank=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name


class Status(models.TextChoices):
    """Statuses of an order."""

    OPEN = "open", "Open"
    PAID = "paid", "Paid"
    REFUNDED = "refunded", "Refunded"


class Order(models.Model):
    """An order of a customer."""

    customer = models.ForeignKey(Customer, models.CASCADE, related_name="orders")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.OPEN)
    note = models.TextField(blank=True)

    class Meta:
        ordering = ["id"]


class Item(models.Model):
    """A product in an order."""

    order = models.ForeignKey(Order, models.CASCADE, related_name="items")
    product = models.ForeignKey(Product, models.PROTECT)
    quantity = models.PositiveIntegerField(default=1, validators=[MinValueValidator(1)])

    class Meta:
        ordering = ["id"]
