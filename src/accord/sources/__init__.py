"""Things that yield tools: functions, databases, viewsets, character sheets."""
