"""Scripts for this repository: `docgen` (README and docs) and `draw_sheet` (the character sheet)."""
