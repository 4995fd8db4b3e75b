"""Sources of tools: functions, databases, Django viewsets, character sheets.

Each folder stands alone; read `functions` first.
"""
