from tests.cli.conftest import cli as cli
from tests.cli.conftest import program as program
from tests.cli.conftest import sandbox as sandbox
