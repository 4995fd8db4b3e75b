"""Adapters for agent frameworks, one module each.

A module imports its framework when it is used.
"""
