"""What tests need of a machine: they are skipped where it lacks that, or fail if it may not."""

import os
import shutil
from typing import NamedTuple, NoReturn

import pytest


class Needed(NamedTuple):
    """A program or service that some tests cannot do without."""

    what: str  # such as "Docker"
    required: str  # a variable: set to 1, its lack fails them instead of skipping them

    def refuse(self, why: str) -> NoReturn:
        """Skip the test at hand, or fail it."""
        if os.environ.get(self.required) == "1":
            pytest.fail(f"{self.required}=1, and there is no {self.what}: {why}", pytrace=False)
        pytest.skip(f"needs {self.what}: {why}")


DOCKER = Needed("Docker", "AGENTBENCH_REQUIRE_DOCKER")
BROWSER = Needed("a browser", "AGENTBENCH_REQUIRE_BROWSER")
INDEX = Needed("a package index", "AGENTBENCH_REQUIRE_INDEX")
TOOLS = Needed("tool of this language", "AGENTBENCH_REQUIRE_TOOLS")


def require_tool(program: str) -> None:
    """Refuse the test at hand if a program is not where sandboxes and plain shells find it."""
    if shutil.which(program, path="/usr/local/bin:/usr/bin:/bin") is None:
        TOOLS.refuse(f"{program} is not in /usr/bin")
