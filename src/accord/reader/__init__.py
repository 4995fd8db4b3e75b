"""Anybody's reply into one structure: unwrap, find the value, judge what it is, see its page."""

from accord.reader.judge import RULES
from accord.reader.read import read
from accord.reader.reading import Reading

__all__ = ["RULES", "Reading", "read"]
