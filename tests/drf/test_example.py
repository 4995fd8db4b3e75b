"""The example project can be tried as its page says."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from cli.command import ACCORD, ENVIRONMENT, EXAMPLES

PAGE = EXAMPLES.parent / "docs/django.md"
PROJECT = EXAMPLES / "drf_shop"
SHIPPED = {"django", "djangorestframework"}
"""Packages that the extra `django` installs."""


@pytest.mark.slow
def test_the_commands_of_the_page_make_something_to_look_at(tmp_path: Path) -> None:
    shutil.copytree(PROJECT, tmp_path / "shop", ignore=shutil.ignore_patterns("*.sqlite3"))
    env = ENVIRONMENT | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    lines = re.findall(r"^(python manage\.py stock|accord call .*)", PAGE.read_text(), re.M)
    assert Path(ACCORD).parent == Path(sys.executable).parent
    for line in lines:
        done = subprocess.run(line, shell=True, cwd=tmp_path / "shop", env=env, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b""), line
    assert len(lines) == 2
    assert [each["name"] for each in json.loads(done.stdout)] == ["Alice"]


def test_what_the_project_needs_beside_the_extra_is_listed() -> None:
    settings = (PROJECT / "storefront/settings.py").read_text()
    apps = re.search(r"INSTALLED_APPS = \[(.*?)\]", settings, re.S)
    assert apps is not None
    known = packages_distributions()
    modules = {name.split(".")[0] for name in re.findall(r'"(.*?)"', apps[1])}
    modules -= {"accord", "storefront"}
    wanted = {known[module][0].lower() for module in modules} - SHIPPED
    listed = (PROJECT / "requirements.txt").read_text().split()
    assert wanted == set(listed) - {"accord-mcp[django,http]"}
