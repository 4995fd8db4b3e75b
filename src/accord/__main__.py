"""`python -m accord`: the same as `accord`."""

import sys

from accord.cli import main

sys.exit(main())
