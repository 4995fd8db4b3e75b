"""Draws the character sheet that ships with accord: `python -m tools.draw_sheet`, or `make sheet`.

Read `pages` (the layout), `sheet` (drawing), `fields` (form fields).
"""
