"""The project for an ASGI server: `uvicorn storefront.asgi:application`."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "storefront.settings")
application = get_asgi_application()
