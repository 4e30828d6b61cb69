"""Whether an attempt is honest: what of a change is judged, control runs, suspicious code.

Reads and writes values and text only; runs nothing.
"""
