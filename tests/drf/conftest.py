"""The example project, set up once per process; every test is rolled back."""

import os
from collections.abc import Iterator

import django
import pytest

from storefront import settings

os.environ["DJANGO_SETTINGS_MODULE"] = "storefront.settings"
settings.DATABASES["default"]["NAME"] = ":memory:"
django.setup()

from django.core.cache import cache  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import transaction  # noqa: E402

from drf import users  # noqa: E402
from storefront.management.commands.stock import fill  # noqa: E402


@pytest.fixture(scope="session")
def tables() -> None:
    call_command("migrate", run_syncdb=True, verbosity=0)
    fill()
    users.create_users()


@pytest.fixture(autouse=True)
def shop(tables: None) -> Iterator[None]:
    cache.clear()
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
