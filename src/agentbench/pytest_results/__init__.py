"""Pytest results: the one serializer that judges attempts and answers agents."""
