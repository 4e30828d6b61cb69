"""Reads and writes Harbor's task folders."""
