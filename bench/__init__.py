"""Accord side by side with its peers over stdio and HTTP: `python -m bench`."""
