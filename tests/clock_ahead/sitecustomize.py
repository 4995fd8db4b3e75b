"""Puts the clock of a process 55 seconds ahead: with this folder in PYTHONPATH, Python imports it."""

import time

_time = time.time
time.time = lambda: _time() + 55
