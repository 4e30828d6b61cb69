from tests.cli.conftest import cli as cli
from tests.cli.conftest import runs_dir as runs_dir
