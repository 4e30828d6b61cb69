"""What the symbolic tools work with in tests: real sandboxes, or none."""

from pathlib import PurePosixPath

from agentbench.errors import UnavailableError
from agentbench.extensions.symbolic.sandbox import AnalysisSandboxes
from agentbench.extensions.symbolic.symbolic_tools import SymbolicTools
from agentbench.test_tools.envelope import PathMask

MASK = PathMask(PurePosixPath("/project"))


def refuse():
    raise UnavailableError("no sandbox works here: bwrap at /usr/bin/bwrap says no")


def symbolic(analysis_sandboxes, *, installed=True):
    """The tools' own part of a server."""
    return SymbolicTools(
        sandboxes=analysis_sandboxes, mask=MASK, version="1.2.3", installed=installed
    )


def without_sandbox(cache_dir, *, installed=True):
    """The same where no sandbox works."""
    return symbolic(AnalysisSandboxes(refuse, cache_dir), installed=installed)
