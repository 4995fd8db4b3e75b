"""Readings are the same in every process: `accord read --jobs` reads a file in several."""

import os
import subprocess
import sys

from commands import TESTS

_DIGEST = """
import hashlib, json
from accord import read
from reader.case_files import SPLITS, load

digest = hashlib.sha256()
for split in SPLITS:
    for place, case in load(split):
        reading = read(case.reply, case.tool, case.arguments)
        found = [reading.response.to_dict(), reading.confidence, reading.rules, reading.findings]
        digest.update(json.dumps([place, found], default=str).encode())
print(digest.hexdigest())
"""


def digest_with(seed: str) -> str:
    env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(TESTS)}
    done = subprocess.run(
        [sys.executable, "-c", _DIGEST], env=env, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_readings_do_not_depend_on_the_hash_seed() -> None:
    assert len({digest_with(seed) for seed in ("1", "2", "3")}) == 1
