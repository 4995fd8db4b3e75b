"""Accord side by side with its peers over stdio: `python -m bench`."""
