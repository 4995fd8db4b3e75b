"""Draws the character sheet that ships with accord: `python -m template`, or `make template`."""
