"""What tests need of a machine: they are skipped where it lacks that, or fail if it may not."""

import os
from typing import NamedTuple, NoReturn

import pytest


class Needed(NamedTuple):
    """A program or service that some tests cannot do without."""

    what: str  # such as "Docker"
    tests: str  # what those that need it are called
    required: str  # a variable: set to 1, its lack fails them instead of skipping them

    def refuse(self, why: str) -> NoReturn:
        """Skip the test at hand, or fail it."""
        if os.environ.get(self.required) == "1":
            pytest.fail(f"{self.required}=1, and there is no {self.what}: {why}", pytrace=False)
        pytest.skip(f"{self._mark}{why}")

    def tell(self, reporter: pytest.TerminalReporter) -> None:
        """Say how many tests did not run, and why; the reports come from xdist's workers too."""
        reasons = [
            report.longrepr[2]
            for report in reporter.stats.get("skipped", [])
            if isinstance(report.longrepr, tuple) and self._mark in report.longrepr[2]
        ]
        if reasons:
            said = reasons[0].removeprefix("Skipped: ")
            reporter.write_line(f"{len(reasons)} {self.tests} were skipped: {said}")

    @property
    def _mark(self) -> str:
        return f"needs {self.what}: "


DOCKER = Needed("Docker", "Docker tests", "AGENTBENCH_REQUIRE_DOCKER")
BROWSER = Needed("a browser", "tests of pages", "AGENTBENCH_REQUIRE_BROWSER")
INDEX = Needed("a package index", "tests that download packages", "AGENTBENCH_REQUIRE_INDEX")
