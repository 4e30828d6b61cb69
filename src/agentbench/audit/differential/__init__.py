"""Resolved attempts held against the reference fix by running both.

Wrong fixes that the hidden tests let pass.
"""
