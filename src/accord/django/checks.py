"""What is wrong with a project's tools, said when it starts."""

import warnings
from typing import Any

from django.core import checks

from accord.django.project import endpoints
from accord.errors import ContractError
from accord.sources.drf import SkippedWarning


def check_endpoints(app_configs: Any, **_: Any) -> list[checks.CheckMessage]:
    """Build the tools of every endpoint: an error where that cannot be, a warning for each gap."""
    found: list[checks.CheckMessage] = []
    for path, endpoint in endpoints().items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                endpoint.rebuild()
            except ContractError as error:
                found.append(checks.Error(str(error), obj=f"/{path}", id="accord.E001"))
        said = [str(each.message) for each in caught if issubclass(each.category, SkippedWarning)]
        found += [checks.Warning(each, obj=f"/{path}", id="accord.W001") for each in said]
    return found
