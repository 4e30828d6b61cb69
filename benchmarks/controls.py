"""What blind controls cost: judging the shipped tasks' reference solutions with and without them.

Judging is the final_test stage: the final test itself and, with controls, the two blind runs
beside it. The levels take turns in one run, so the ratios hold although seconds drift. The first,
unmeasured round prepares the tasks. Run: python benchmarks/controls.py [ROUNDS] [SANDBOX ...]
"""

import statistics
import sys
import tempfile
from pathlib import Path

from agentbench import RunOptions, run_tasks
from agentbench.scoring.evidence import StageName
from agentbench.tasks.control_level import ControlLevel

_TASKS = Path(__file__).parents[1] / "tasks"


def main() -> None:
    """Take turns and print medians and ratios."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for sandbox in sys.argv[2:] or ("docker", "bubblewrap"):
        with tempfile.TemporaryDirectory(prefix="agentbench-controls-") as scratch:
            _measure(sandbox, rounds, Path(scratch))


def _measure(sandbox: str, rounds: int, place: Path) -> None:
    seconds: dict[ControlLevel, list[float]] = {level: [] for level in ControlLevel}
    _judging_seconds(sandbox, ControlLevel.FULL, place)
    for _ in range(rounds):
        for level in ControlLevel:
            seconds[level].append(_judging_seconds(sandbox, level, place))
    print(f"{sandbox}: {rounds} rounds, all shipped tasks, one attempt at a time")
    for level, taken in seconds.items():
        ratios = [one / off for one, off in zip(taken, seconds[ControlLevel.OFF], strict=True)]
        print(
            f"  {level:<7} {statistics.median(taken):6.2f} s judging"
            f"  {statistics.median(ratios):5.2f} x ({min(ratios):.2f}-{max(ratios):.2f})"
        )


def _judging_seconds(sandbox: str, level: ControlLevel, place: Path) -> float:
    options = RunOptions(
        jobs=1,
        runs_dir=place / "runs",
        cache_dir=place / "cache",
        integrity_controls=level,
    )
    total = 0.0
    for record in run_tasks([_TASKS], "oracle", sandbox=sandbox, options=options):
        if not record.resolved:
            raise SystemExit(f"{record.task_id}: {record.failure_reason}: {record.detail}")
        stages = {stage.name: stage.duration_s for stage in record.stages}
        total += stages[StageName.FINAL_TEST]
    return total


if __name__ == "__main__":
    main()
