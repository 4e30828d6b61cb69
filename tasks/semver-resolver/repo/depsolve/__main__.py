"""Entry point of ``python -m depsolve``."""

import sys

from depsolve.cli import main

sys.exit(main(sys.argv[1:]))
