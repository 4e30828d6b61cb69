"""The graders, in the order of the table's columns."""

from benchmarks.graders import harbor, verifiers_grader
from benchmarks.graders.exit_code import ExitCode
from benchmarks.graders.inspect_swe_bench_grader import InspectSweBench
from benchmarks.graders.openenv_grader import OpenEnvGrader
from benchmarks.graders.own import Agentbench
from benchmarks.graders.swe_bench import SweBench
from benchmarks.graders.terminal_bench import TerminalBenchGrader
from benchmarks.graders.trial import Grader

GRADERS: tuple[Grader, ...] = (
    ExitCode(),
    SweBench(),
    InspectSweBench(),
    harbor.SHARED,
    harbor.SEPARATE,
    TerminalBenchGrader(),
    verifiers_grader.SHARED,
    verifiers_grader.SEPARATE,
    OpenEnvGrader(),
    *(
        Agentbench(sandbox, controls)
        for sandbox in ("docker", "bubblewrap")
        for controls in ("off", "sample", "full")
    ),
)
