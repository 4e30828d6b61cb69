"""Judges what is honest again and again: `python -m tests.corpora.repeat --times 20`.

The honest agents of both corpora and the reference solutions of the shipped tasks. Whatever in a
judging is left to chance, such as which expected values are changed, must convict none of them.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from agentbench import AttemptRecord, RunOptions, run_attempt
from agentbench.agents.command import CommandAgent
from agentbench.core.host import default_cache_dir
from agentbench.sandbox.interface import SandboxProvider
from agentbench.sandbox.registry import select_back_end
from agentbench.taxonomy import FailureReason
from tests.corpora.cheats.honest import HONEST, Honest
from tests.corpora.unusual.corpus import FIXES

TASKS = Path(__file__).parents[2] / "tasks"
CONTROLS: tuple[Honest, ...] = (*HONEST, *FIXES)


@dataclass(slots=True, kw_only=True)
class Tally:
    name: str
    attempts: int = 0
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    name: str
    judge: Callable[[Path], AttemptRecord]
    resolved: bool = True

    def fault(self, record: AttemptRecord) -> str | None:
        expected = None if self.resolved else FailureReason.TESTS_FAILED
        if record.quarantined or record.failure_reason is not expected:
            return f"{record.run_id}: {record.failure_reason}: {record.detail}"
        return None


def cases(provider: SandboxProvider, cache_dir: Path, catalogue: Sequence[Path]) -> Iterator[Case]:
    def controlled(honest: Honest) -> Callable[[Path], AttemptRecord]:
        def judge(folder: Path) -> AttemptRecord:
            task = honest.task.write(folder / "small")
            agent = CommandAgent(f"set -e; {honest.line}")
            return run_attempt(task, agent, sandbox=provider, options=_options(folder, cache_dir))

        return judge

    def referred(task: Path) -> Callable[[Path], AttemptRecord]:
        def judge(folder: Path) -> AttemptRecord:
            options = _options(folder, cache_dir)
            return run_attempt(task, "oracle", sandbox=provider, options=options)

        return judge

    for honest in CONTROLS:
        yield Case(name=honest.name, judge=controlled(honest), resolved=honest.resolved)
    for task in catalogue:
        yield Case(name=f"the reference solution of {task.name}", judge=referred(task))


def repeat(cases: Sequence[Case], times: int, folder: Path) -> list[Tally]:
    tallies = [Tally(name=case.name) for case in cases]
    with suppress(KeyboardInterrupt):
        for number in range(1, times + 1):
            _judge_all(cases, tallies, folder)
            wrong = sum(len(tally.wrong) for tally in tallies)
            sys.stderr.write(f"round {number} of {times}: {wrong} wrong so far\n")
    return tallies


def _judge_all(cases: Sequence[Case], tallies: Sequence[Tally], folder: Path) -> None:
    for case, tally in zip(cases, tallies, strict=True):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            started = time.monotonic()
            fault = case.fault(case.judge(Path(place)))
        tally.attempts += 1
        tally.seconds += time.monotonic() - started
        if fault is not None:
            tally.wrong.append(fault)


def table(tallies: Sequence[Tally]) -> str:
    width = max(len(tally.name) for tally in tallies)
    lines = [f"{'case':<{width}}  attempts  wrong  seconds each"]
    for tally in tallies:
        each = tally.seconds / max(tally.attempts, 1)
        lines.append(
            f"{tally.name:<{width}}  {tally.attempts:>8}  {len(tally.wrong):>5}  {each:>12.2f}"
        )
        lines += [f"    {fault}" for fault in tally.wrong]
    attempts, wrong = sum(t.attempts for t in tallies), sum(len(t.wrong) for t in tallies)
    lines.append(f"{'all':<{width}}  {attempts:>8}  {wrong:>5}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.corpora.repeat")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--sandbox", default="bubblewrap")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    options = parser.parse_args()
    cache_dir = default_cache_dir()
    provider = select_back_end(options.sandbox, cache_dir=cache_dir).provider
    catalogue = sorted(path.parent for path in TASKS.glob("*/task.toml"))
    chosen = [c for c in cases(provider, cache_dir, catalogue) if options.only in c.name]
    with tempfile.TemporaryDirectory() as folder:
        tallies = repeat(chosen, options.times, Path(folder))
    sys.stdout.write(table(tallies) + "\n")
    return 1 if any(tally.wrong for tally in tallies) else 0


def _options(folder: Path, cache_dir: Path) -> RunOptions:
    return RunOptions(runs_dir=folder / "runs", cache_dir=cache_dir, retries=0)


if __name__ == "__main__":
    sys.exit(main())
