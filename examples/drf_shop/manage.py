"""The project's own command line: `python manage.py mcp --list`."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "storefront.settings")
    execute_from_command_line(sys.argv)
