"""Load a Django project by its settings module, outside of manage.py."""

import os

import django

from accord.server import Server


def load(settings: str) -> Server:
    """Set up Django with these settings and return the project's server."""
    os.environ["DJANGO_SETTINGS_MODULE"] = settings
    django.setup()
    from accord.django.project import server  # needs django.setup()

    return server()
