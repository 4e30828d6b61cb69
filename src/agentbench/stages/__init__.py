"""Stages: the six steps of an attempt; each returns evidence."""
