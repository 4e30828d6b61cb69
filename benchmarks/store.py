"""The store: what keeping a record costs, and what a report on very many of them takes.

Appending is timed beside one line written and synced, which is all that a disk has to do; a report
beside the least that must be done with sealed lines, which is to read them and take their sha256.
Reports are whole commands, their output thrown away; lines are as long as those of an attempt at a
task of four tests. Memory is that of all processes of the command together.
A million lines take 10 GB below TMPDIR.
Run: python benchmarks/store.py [--records N]
"""

import argparse
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from measuring import Measure, arguments, child, compared, show, take_turns

from agentbench.attempt.record import (
    AttemptRecord,
    EnvironmentRecord,
    RunId,
    StageRecord,
    TimingRecord,
    UsageRecord,
)
from agentbench.runs.store.configuration import RunConfiguration, TaskEntry
from agentbench.runs.store.store import RunStore
from agentbench.scoring.classification import Failure
from agentbench.scoring.evidence import (
    CaseFact,
    CaseOutcome,
    CommandResult,
    Ending,
    Evidence,
    NodeId,
    PytestOutcome,
    ReportFacts,
    ReportSource,
)
from agentbench.scoring.expectation import ExpectedTests
from agentbench.tasks.problem import TaskId
from agentbench.taxonomy import FailureReason, Fault, StageName

_NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
_RUN = RunId("20260102T120000-abcd")
_TASKS = 10  # of a hundred attempts at ten of them, and so on: attempts per task
_FLOOR = """
import hashlib, sys
with open(sys.argv[1], "rb") as source:
    for line in source:
        hashlib.sha256(line).hexdigest()
"""
_FLOOR_NAME = "read and sha256 of every line"


def main() -> None:
    """Measure appending, then reports on runs of growing size."""
    parser = arguments(__doc__)
    parser.add_argument(
        "--records", type=int, nargs="+", default=[100_000, 1_000_000], metavar="N",
        help="sizes of the runs that are reported on",
    )  # fmt: skip
    options = parser.parse_args()
    facts: dict[str, str | int] = {"bytes of a line": len(next(_lines(1)))}
    with tempfile.TemporaryDirectory(prefix="agentbench-store-") as scratch:
        place = Path(scratch)
        measures = _appending(place, options.rounds)
        for records in options.records:
            measures += _reporting(place / str(records), records, options)
        measures += _with_folders(place / "folders", options)
    show("store", measures, options, facts=facts)


def _appending(place: Path, rounds: int) -> list[Measure]:
    """Milliseconds for each of some records, one after another."""
    store = RunStore.create(place, _configuration())
    line = next(_lines(1))
    count = 50
    numbers = iter(range(1, 1_000_000))

    def kept() -> float:
        started = time.perf_counter()
        for _ in range(count):
            number = next(numbers)
            folder, _retry = store.attempt_folder(TaskId("task"), number)
            store.append(_record(number).replace(task_id="task"), folder)
        return 1000 * (time.perf_counter() - started) / count

    def raw() -> float:
        started = time.perf_counter()
        with (place / "raw").open("ab") as target:
            for _ in range(count):
                target.write(line)
                target.flush()
                os.fsync(target.fileno())
        return 1000 * (time.perf_counter() - started) / count

    return take_turns({"a line written and synced": raw, "a record kept": kept}, rounds, unit="ms")


def _reporting(place: Path, records: int, options: argparse.Namespace) -> list[Measure]:
    run = _synthetic(place, records)
    program = [sys.executable, "-m", "agentbench", "report", str(run)]
    floor = [sys.executable, "-c", _FLOOR, str(run / "attempts.jsonl")]
    child(floor)  # so that all find the lines in memory, if there is room for them
    floors, reports = [], []
    for _ in range(options.rounds):
        floors.append(child(floor))
        reports.append(child(program, together=True))
    (run / "attempts.jsonl").unlink()
    seconds = [each.seconds for each in floors]
    name = f"report on {records:,} records"
    return [
        compared(f"{_FLOOR_NAME}, {records:,}", seconds, seconds, unit="s", against=_FLOOR_NAME),
        compared(name, [each.seconds for each in reports], seconds, unit="s", against=_FLOOR_NAME),
        Measure(
            name=f"{name}, processor",
            unit="s",
            values=tuple(each.processor_s for each in reports),
        ),
        Measure(
            name=f"{name}, peak memory",
            unit="MB",
            values=tuple(each.together_bytes / 1e6 for each in reports),
        ),
    ]


def _with_folders(place: Path, options: argparse.Namespace) -> list[Measure]:
    """The same where each attempt has a folder: copies of lost lines are looked for."""
    records = min(options.records)
    run = _synthetic(place, records)
    for number in range(records):
        folder = run / "attempts" / _task(number) / str(number % _TASKS + 1)
        folder.mkdir(parents=True)
        (folder / "record.json").touch()
    program = [sys.executable, "-m", "agentbench", "report", str(run)]
    taken = [child(program, together=True) for _ in range(options.rounds)]
    name = f"report on {records:,} records with their folders"
    return [
        Measure(name=name, unit="s", values=tuple(each.seconds for each in taken)),
        Measure(
            name=f"{name}, peak memory",
            unit="MB",
            values=tuple(each.together_bytes / 1e6 for each in taken),
        ),
    ]


def _synthetic(place: Path, records: int) -> Path:
    """The folder of a run that has so many records."""
    store = RunStore.create(place, _configuration())
    with (store.folder / "attempts.jsonl").open("wb") as target:
        target.writelines(_lines(records))
    return store.folder


def _lines(records: int) -> Iterator[bytes]:
    """Sealed lines, made of a few records: only what differs is written anew."""
    kinds = [_record(number).model_dump_json()[:-1] for number in range(3)]
    for number in range(records):
        head = (
            kinds[number % 3]
            .replace("@task@", _task(number))
            .replace('"attempt":777', f'"attempt":{number % _TASKS + 1}')
            .replace("@detail@", f"{number % 1009} of 1009 tests failed")
            .replace('"total_s":777.0', f'"total_s":{number % 977 + 0.25}')
        )
        content = f"{head},".encode()
        yield b'%b"digest":"sha256:%b"}\n' % (
            content, hashlib.sha256(content).hexdigest().encode()
        )  # fmt: skip


def _task(number: int) -> str:
    return f"project__project-{number // _TASKS:06}"


def _record(number: int) -> AttemptRecord:
    """A record: of three kinds, as long as real ones."""
    resolved = number % 3 == 0
    failure = Failure(
        stage=StageName.FINAL_TEST,
        reason=FailureReason.TESTS_FAILED,
        fault=Fault.AGENT,
        detail="@detail@",
    )
    return AttemptRecord(
        run_id=_RUN,
        task_id=TaskId("@task@"),
        attempt=777,
        agent="llm",
        model="openai/gpt-5",
        task_digest="0" * 64,
        started_at=_NOON,
        resolved=resolved,
        quarantined=False,
        failure_reason=None if resolved else failure.reason,
        fault=None if resolved else failure.fault,
        detail="" if resolved else failure.detail,
        failures=() if resolved else (failure,),
        expected=ExpectedTests(fail_to_pass=tuple(each.node_id for each in _cases(2))),
        stages=tuple(_stage(name) for name in StageName),
        usage=UsageRecord(requests=12, input_tokens=90_000, output_tokens=4_000, cost_usd=0.25),
        timing=TimingRecord(total_s=777.0),
        environment=EnvironmentRecord(
            sandbox="docker", cpus=2, memory_mib=4096, pids=512, disk_mib=8192
        ),
    )


def _stage(name: StageName) -> StageRecord:
    tested = name in {StageName.BASELINE_RUN, StageName.FINAL_TEST}
    text = "tests/test_cache.py::test_an_entry_lives_until_its_deadline PASSED\n" * 22
    command = CommandResult(
        argv=("python", "-I", "-B", "/agentbench/agentbench_launch.py", "-ra", "-x" * 60),
        ending=Ending.EXITED,
        exit_code=0,
        duration=timedelta(seconds=1.5),
        stdout=text if tested else "",
    )
    report = ReportFacts(
        outcome=PytestOutcome.PASSED,
        source=ReportSource.STREAM,
        complete=True,
        collected=4,
        passed=4,
        failed=0,
        cases=_cases(4),
    )
    return StageRecord(
        name=name,
        started_at=_NOON,
        duration_s=1.5,
        ending=Ending.EXITED,
        exit_code=0,
        log=f"stages/{name}.log",
        evidence=Evidence(command=command, report=report if tested else None),
    )


def _cases(count: int) -> tuple[CaseFact, ...]:
    return tuple(
        CaseFact(
            node_id=NodeId(f"tests/test_cache.py::test_entry_{number}_lives_until_its_deadline"),
            outcome=CaseOutcome.PASSED,
            phases=(1, 1, 1),
            duration=0.0012345678,
        )
        for number in range(count)
    )


def _configuration() -> RunConfiguration:
    return RunConfiguration(
        run_id=_RUN,
        agentbench_version="0",
        agent="llm",
        jobs=1,
        sandbox="docker",
        sandbox_reason="asked for by name",
        tasks=(TaskEntry(id=TaskId("task"), folder="task", digest="0"),),
        started_at=_NOON,
    )


if __name__ == "__main__":
    main()
