"""The graders, in the order of the table's columns."""

from benchmarks.graders.exit_code import ExitCode
from benchmarks.graders.own import Agentbench
from benchmarks.graders.swe_bench import SweBench
from benchmarks.graders.trial import Grader

GRADERS: tuple[Grader, ...] = (
    ExitCode(),
    SweBench(),
    *(
        Agentbench(sandbox, controls)
        for sandbox in ("docker", "bubblewrap")
        for controls in ("off", "sample", "full")
    ),
)
