"""What control runs cost: judging the shipped tasks' reference solutions with and without them.

Judging is the final_test stage: the final test itself and, with controls, the sealed run before
it, and blind runs of the tests that are not sealed. The levels take turns; a first, unmeasured
turn prepares the tasks.
Run: python benchmarks/controls.py [--sandbox NAME ...] [--rounds N] [--json FILE]
"""

import tempfile
from functools import partial
from pathlib import Path

from measuring import Measure, arguments, show, take_turns

from agentbench import RunOptions, run_tasks
from agentbench.tasks.control_level import ControlLevel
from agentbench.taxonomy import StageName

_TASKS = Path(__file__).parents[1] / "tasks"
_SANDBOXES = ("docker", "bubblewrap")


def main() -> None:
    """Take turns and show medians and ratios."""
    parser = arguments(__doc__)
    parser.add_argument(
        "--sandbox", nargs="+", default=_SANDBOXES, metavar="NAME", help="(default: both)"
    )
    options = parser.parse_args()
    measures: list[Measure] = []
    for sandbox in options.sandbox:
        with tempfile.TemporaryDirectory(prefix="agentbench-controls-") as scratch:
            measures += _measured(sandbox, options.rounds, Path(scratch))
    tasks = len(list(_TASKS.glob("*/task.toml")))
    show("controls", measures, options, facts={"tasks, one attempt at a time": tasks})


def _measured(sandbox: str, rounds: int, place: Path) -> list[Measure]:
    judging = partial(_judging_seconds, sandbox, place)
    judging(ControlLevel.FULL)
    names = {level: f"{sandbox}, controls {level}" for level in ControlLevel}
    variants = {name: partial(judging, level) for level, name in names.items()}
    return take_turns(variants, rounds, against=names[ControlLevel.OFF])


def _judging_seconds(sandbox: str, place: Path, level: ControlLevel) -> float:
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
