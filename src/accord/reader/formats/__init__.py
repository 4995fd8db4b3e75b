"""The text formats that replies use: JSON in text, YAML, TOON, Python repr."""
