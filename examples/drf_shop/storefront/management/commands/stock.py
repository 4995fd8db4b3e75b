"""`manage.py stock`: sample data."""

from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand

from storefront.models import Customer, Item, Order, Product, Status


class Command(BaseCommand):
    """Create the tables, and sample data if they are empty."""

    help = "Create the tables and sample data."

    def handle(self, *_: Any, **__: Any) -> None:
        """Run the command."""
        call_command("migrate", run_syncdb=True, verbosity=0)
        if not Customer.objects.exists():
            fill()


def fill() -> None:
    """Create one customer, three products and two orders."""
    alice = Customer.objects.create(name="Alice", email="alice@example.com")
    engine = Product.objects.create(sku="EN-1", name="Difference engine", price="912.50")
    Product.objects.create(sku="PC-2", name="Punch cards", price="4.20")
    trap = Product.objects.create(sku="MT-3", name="Moth trap", price="19.99", category="lab")
    paid = Order.objects.create(customer=alice, status=Status.PAID, note="by coach")
    Item.objects.create(order=paid, product=engine)
    Item.objects.create(order=Order.objects.create(customer=alice), product=trap, quantity=2)
