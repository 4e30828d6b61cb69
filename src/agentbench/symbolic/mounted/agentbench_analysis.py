"""Searches a function's paths for what a question asks, in a sandbox.

    python -I -B agentbench_analysis.py LIBRARY

Reads a question as JSON from stdin; writes JSON lines to stdout: how far it is, and at the end what
it found. The function's own prints go nowhere. Python 3.11 or newer.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib is no part of it
sys.path.append(sys.argv[1])

from agentbench_analysis_run import main

if __name__ == "__main__":
    main()
