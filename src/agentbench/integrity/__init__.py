"""Integrity checks: which parts of a change are judged, control runs, suspicious code.

These modules only read and write values and text; they run nothing.
"""
