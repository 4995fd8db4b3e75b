"""A Django project by the name of its settings, for a process that is not Django's own."""

import os

import django

from accord.server import Server


def load(settings: str) -> Server:
    """The project with these settings as a server; nothing in it has to be changed."""
    os.environ["DJANGO_SETTINGS_MODULE"] = settings
    django.setup()
    from accord.django.project import server  # which nobody can import before

    return server()
