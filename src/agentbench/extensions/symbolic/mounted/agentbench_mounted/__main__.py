"""Starts a program of the package in a sandbox: `python [-I] -B FOLDER PROGRAM [LIBRARY]`.

PROGRAM is a module of this folder with a `main`, LIBRARY the folder with crosshair and hypothesis.
The code under test gets on `sys.path` later and cannot replace a module of ours.
"""

import sys
from importlib import import_module
from pathlib import Path

# Python has put this folder first. The package finds its modules without its parent from now on.
sys.path[0] = str(Path(__file__).parents[1])
sys.path.extend(sys.argv[2:3])
program = import_module(f"agentbench_mounted.{sys.argv[1]}")
del sys.path[0]
program.main()
