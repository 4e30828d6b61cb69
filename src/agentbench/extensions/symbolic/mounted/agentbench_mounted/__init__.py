"""Programs that run in sandboxes, next to the code under test, with mounted libraries only.

Imports are relative: the package is at the top level there, and a part of agentbench here.
"""
