"""One judge for a whole process, for packages whose parts are created without an owner."""

from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from agentbench.judge.judge import Judge
from agentbench.runs.options import RunOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """The settings of a judge that a configuration file or a command line can name."""

    sandbox: str = "auto"
    """`auto`, `docker` or `bubblewrap`."""
    jobs: int | None = None
    """How many attempts are prepared or judged at a time; None: two for each core."""
    reward: str = "resolved"
    """`resolved` or `fixed-share`."""
    runs_dir: str = "runs"
    """The folder in which the judge creates the folder of its run."""


_lock = Lock()
_judges: dict[JudgeSettings, Judge] = {}


# Each judge has a run of its own in runs/, and sandboxes: one serves the whole process.
def process_judge(settings: JudgeSettings) -> Judge:
    """The judge of this process with these settings, opened at the first call.

    `close_judges` closes it.

    Raises:
        UsageError: a setting is wrong.
        UnavailableError: the sandbox is not available.
    """
    with _lock:
        judge = _judges.get(settings)
        if judge is None:
            judge = Judge(
                sandbox=settings.sandbox,
                jobs=settings.jobs,
                reward=settings.reward,
                options=RunOptions(runs_dir=Path(settings.runs_dir)),
            )
            judge.open()
            _judges[settings] = judge
        return judge


def close_judges() -> None:
    """Close the judges of this process, and remove their sandboxes.

    The end of a process is too late for it: threads that remove containers are gone then.
    """
    with _lock:
        judges = tuple(_judges.values())
        _judges.clear()
    for judge in judges:
        judge.close()
