"""Starts a program of the package in a sandbox: `python [-I] -B FOLDER PROGRAM [LIBRARY]`.

PROGRAM is a module of `agentbench_mounted` that has a `main`. LIBRARY is the folder with crosshair
and hypothesis. The code under test gets on `sys.path` later and cannot replace a module of ours.
"""

import sys
from importlib import import_module

# Python has put this folder first. The package finds its own modules without it from now on.
sys.path.extend(sys.argv[2:3])
program = import_module(f"agentbench_mounted.{sys.argv[1]}")
del sys.path[0]
program.main()
