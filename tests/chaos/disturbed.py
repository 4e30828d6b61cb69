"""A run of two dozen short attempts that all end differently, to be disturbed and gone on with."""

import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agentbench import AttemptRecord
from agentbench.runs.store.reading import read_run
from agentbench.runs.store.summaries import was_interrupted
from agentbench.taxonomy import FailureReason, Fault
from tests.e2e.program import begun_program, run_program
from tests.e2e.small_task import FIX, PARTIAL_FIX, SmallTask
from tests.sandbox.compose_services import PORT, services_in

# One agent, which looks what kind of end its task asks for.
AGENT = f"""
case "$(cat which.txt)" in
  fixed) {FIX};;
  fixed-slowly) sleep 0.5; {FIX};;
  half) {PARTIAL_FIX};;
  untouched) :;;
  broken-off) exit 3;;
  late) sleep 6000;;
esac
"""
VERDICTS: Mapping[str, FailureReason | None] = {
    "fixed": None,
    "fixed-slowly": None,
    "half": FailureReason.TESTS_FAILED,
    "untouched": FailureReason.TESTS_FAILED,
    "broken-off": FailureReason.TOOL_ERROR,
    "late": FailureReason.TIMEOUT,
}
_NAME = "disturbed"
_LATE_AFTER, _PLENTY = 2, 600  # seconds: only the agent that is to be late meets its limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbed:
    """One run, with a cache and a folder for temporary files of its own."""

    folder: Path
    environ: Mapping[str, str]
    sandbox: str
    attempts: int = 4  # of each task
    jobs: int = 2
    ends: tuple[str, ...] = tuple(VERDICTS)  # the tasks, by how their attempts end
    runs_dir: str = "runs"
    services: str = ""  # a compose file for every task
    more: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.temporary.mkdir(parents=True)
        for which in self.ends:
            files = {**SmallTask().files, "which.txt": which}
            limit = _LATE_AFTER if which == "late" else _PLENTY
            environment = ""
            if self.services:
                services_in(self.folder / "tasks" / which / "env", self.services)
                environment = f'compose = "env/docker-compose.yaml"\nenv = {{ PORT = "{PORT}" }}'
            task = SmallTask(files=files, agent=f"timeout_s = {limit}", environment=environment)
            task.write(self.folder / "tasks" / which)

    @property
    def temporary(self) -> Path:
        """What the run makes in the folder for temporary files is here."""
        return self.folder / "tmp"

    @property
    def run(self) -> Path:
        """The run's folder."""
        return self.folder / self.runs_dir / _NAME

    @property
    def planned(self) -> Counter[tuple[str, int]]:
        """Every attempt, once."""
        return Counter((name, n) for name in self.ends for n in range(1, self.attempts + 1))

    @contextmanager
    def started(self) -> Iterator[subprocess.Popen[str]]:
        """The program under way: begun, or gone on with where there is a run already."""
        with begun_program(*self._words(), env=self._env(), cwd=self.folder) as program:
            yield program

    def to_the_end(self) -> subprocess.CompletedProcess[str]:
        """The program, to its end."""
        return run_program(*self._words(), env=self._env(), cwd=self.folder)

    def killed_after(self, seconds: float) -> int:
        """Start it and kill it after some time, unless it has ended; its process id."""
        with self.started() as program:
            try:
                program.communicate(timeout=seconds)  # whatever moment it comes to, all has to hold
            except subprocess.TimeoutExpired:
                program.send_signal(signal.SIGKILL)
                program.communicate()
        return program.pid

    def timed(self) -> float:
        """Seconds that it takes when nobody disturbs it; its verdicts are the expected ones."""
        began = time.monotonic()
        ended = self.to_the_end()
        assert ended.returncode == 0, ended.stderr
        self.check()
        return time.monotonic() - began

    def tries(self) -> tuple[AttemptRecord, ...]:
        """Every record of the run."""
        return tuple(read_run(self.run).records())

    def check(self) -> None:
        """Every attempt has the verdict of an undisturbed run, and has it once."""
        self.check_what_is_there()
        assert self.judged() == self.planned

    def check_all_but_lost(self) -> None:
        """The same, but for attempts that the infrastructure failed to the last retry."""
        self.check_what_is_there()
        last = {(each.task_id, each.attempt): each for each in self.tries()}
        assert set(last) == set(self.planned)
        assert not any(was_interrupted(record) for record in last.values())

    def judged(self) -> Counter[tuple[str, int]]:
        """How often each attempt got a verdict."""
        tries = [each for each in self.tries() if not _spoilt(each)]
        return Counter((each.task_id, each.attempt) for each in tries)

    def check_what_is_there(self) -> None:
        """No attempt was judged twice or wrongly; all else is the infrastructure's failure."""
        judged = [each for each in self.tries() if not _spoilt(each)]
        assert self.judged() <= self.planned
        wrong = [
            (each.task_id, each.attempt, each.failure_reason, each.detail)
            for each in judged
            if each.failure_reason is not VERDICTS[each.task_id]
        ]
        assert wrong == []
        lost_ones = [each for each in self.tries() if _spoilt(each) and not was_interrupted(each)]
        assert {each.failure_reason for each in lost_ones} <= {FailureReason.SANDBOX_ERROR}

    def _words(self) -> tuple[str | Path, ...]:
        quiet = ("--runs-dir", self.runs_dir)
        if (self.run / "run.json").exists():
            return ("resume", _NAME, *quiet)
        return (
            "run", "tasks", "--agent", "command", "--agent-command", AGENT, "--run-id", _NAME,
            "--sandbox", self.sandbox, "-k", str(self.attempts), "-j", str(self.jobs), *quiet,
            *self.more,
        )  # fmt: skip

    def _env(self) -> dict[str, str]:
        return {
            **self.environ,
            "TMPDIR": str(self.temporary),
            "AGENTBENCH_CACHE": str(self.folder / "cache"),
        }


def mounts_below(folder: Path) -> list[str]:
    """Where something is mounted in a folder."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = sorted(line.split()[4] for line in lines)
    return [point for point in points if Path(point).is_relative_to(folder)]


def _spoilt(record: AttemptRecord) -> bool:
    return was_interrupted(record) or record.fault is Fault.INFRASTRUCTURE
