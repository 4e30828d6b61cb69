"""Writes docs/performance.md from the figures in benchmarks/results.

Each benchmark writes its figures there with --json. The page lists the targets with their measured
values, and all measurements. Run: python benchmarks/performance_page.py > docs/performance.md
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
_LEAST_ROUNDS = 5
_HEAD = """\
# Performance

This page lists the performance targets of agentbench and all measurements of its benchmarks.

`benchmarks/performance_page.py` generates it from the figures in `benchmarks/results/`: do not edit
it. Each benchmark writes its figures with `--json`. Variants take turns within a run, because
durations drift on shared machines. A ratio is calculated within a round and is the median of the
rounds. Commands run with the byte-code of their modules, as an installed program does: the first
run, which is not measured, writes it.
"""
_UNMEASURED = "not measured yet"

Figures = Mapping[str, "dict[str, object]"]
"""What each benchmark wrote, by its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What one measure of a benchmark is to keep to."""

    what: str
    benchmark: str
    measure: str
    limit: float
    is_ratio: bool = False
    is_least: bool = False  # the limit is not the most that it may be
    rest: str  # what dominates what is left
    floor: str | None = None  # the measure of the same work done without a harness

    def holds(self, found: float) -> bool:
        """Whether a measured value keeps to it."""
        return found >= self.limit if self.is_least else found <= self.limit


_RIVALS = (
    "inspect-ai==0.3.285", "harbor==0.25.0", "swebench==5.0.2", "terminal-bench==0.2.18",
)  # fmt: skip
"""Those that grade an attempt; mini-swe-agent does not."""
_WAYS = (("docker", "off", 2.5), ("docker", "full", 1.5), ("bubblewrap", "full", 4.0))
_SIZES = ("1 attempt", "8 attempts, 4 at a time")


def _rivals() -> Iterator[Target]:
    """How many times as long as ours the whole commands of others take that judge, too."""
    for rival, size, (sandbox, controls, least) in product(_RIVALS, _SIZES, _WAYS):
        way = f"{sandbox}, controls {controls}, {size}"
        yield Target(
            what=f"time of {rival.partition('==')[0]} divided by agentbench's: {way}",
            benchmark="peers",
            measure=f"{rival}, {size}, beside agentbench, {way}",
            limit=least,
            is_ratio=True,
            is_least=True,
            rest="",
        )


TARGETS = (
    Target(
        what="1 warm attempt, whole command, Docker, controls off, against the raw chain",
        benchmark="overhead",
        measure="docker, controls off, 1 attempt",
        floor="engine alone, 2 containers each, 1 attempt",
        limit=1.6,
        is_ratio=True,
        rest="the second container, and imports",
    ),
    Target(
        what="the same, controls full",
        benchmark="overhead",
        measure="docker, controls full, 1 attempt",
        floor="engine alone, 3 containers each, 1 attempt",
        limit=2.0,
        is_ratio=True,
        rest="the container of the sealed run, which comes before the final test, and imports",
    ),
    Target(
        what="8 warm attempts, 4 at a time, Docker, controls off, against the raw chain",
        benchmark="overhead",
        measure="docker, controls off, 8 attempts, 4 at a time",
        floor="engine alone, 2 containers each, 8 attempts, 4 at a time",
        limit=1.6,
        is_ratio=True,
        rest="the second container of each attempt",
    ),
    Target(
        what="the same, controls full",
        benchmark="overhead",
        measure="docker, controls full, 8 attempts, 4 at a time",
        floor="engine alone, 3 containers each, 8 attempts, 4 at a time",
        limit=2.6,
        is_ratio=True,
        rest="three containers per attempt",
    ),
    Target(
        what="a sandbox with three services, from start to removal, against Docker Compose",
        benchmark="services",
        measure="sandbox with services",
        limit=1.3,
        is_ratio=True,
        rest="Compose itself, and the services until they are healthy",
    ),
    Target(
        what="1 warm attempt, bubblewrap, controls full, against the raw Docker chain",
        benchmark="overhead",
        measure="bubblewrap, controls full, 1 attempt",
        floor="pytest alone, 2 runs each, 1 attempt",
        limit=1.5,
        is_ratio=True,
        rest="imports, and two pytest runs one after the other",
    ),
    Target(
        what="8 warm attempts, 4 at a time, bubblewrap, controls full, against the raw chain",
        benchmark="overhead",
        measure="bubblewrap, controls full, 8 attempts, 4 at a time",
        floor="pytest alone, 2 runs each, 8 attempts, 4 at a time",
        limit=1.6,
        is_ratio=True,
        rest="two pytest runs per attempt",
    ),
    Target(
        what="peak memory of the harness, 8 attempts, MB",
        benchmark="overhead",
        measure="docker, controls full, 8 attempts, 4 at a time, peak memory",
        limit=80,
        rest="imported modules",
    ),
    Target(
        what="growth of this memory per 1,000 further attempts, MB",
        benchmark="growth",
        measure="growth per 1,000 further attempts",
        limit=1,
        rest="a summary of each attempt, and allocator memory of ended threads",
    ),
    Target(
        what="stages before the agent that warm runs repeated",
        benchmark="overhead",
        measure="preparing stages done by warm runs",
        limit=0,
        rest="",
    ),
    Target(
        what="containers left at exit",
        benchmark="overhead",
        measure="containers left at the end",
        limit=0,
        rest="",
    ),
    Target(
        what="1 cold attempt, controls off, without its tests, against the raw cold chain",
        benchmark="cold",
        measure="docker, controls off, cold",
        limit=1.5,
        is_ratio=True,
        rest="the containers of set-up, baseline, agent and final test instead of one",
    ),
    Target(
        what="scheduler, per no-op attempt, at 1,000, ms",
        benchmark="scheduler",
        measure="scheduler, 1,000",
        limit=2,
        rest="handing each attempt to its thread",
    ),
    Target(
        what="scheduler, per no-op attempt, at 100,000, ms",
        benchmark="scheduler",
        measure="scheduler, 100,000",
        limit=2,
        rest="the same: the time is linear",
    ),
    Target(
        what="judge, 2,000 changes of the shipped tasks, bubblewrap, against runs of the same",
        benchmark="judge",
        measure="judge, 2000 changes",
        limit=1.11,
        is_ratio=True,
        rest="the same attempts",
    ),
    Target(
        what="the same through the service, with 8 clients",
        benchmark="judge",
        measure="service, 8 clients, 2000 changes",
        limit=1.11,
        is_ratio=True,
        rest="the same attempts; HTTP, and three writes to the queue for each change",
    ),
    Target(
        what="judge, growth per 1,000 changes, MB",
        benchmark="judge",
        measure="judge, growth per 1,000 changes, after the first quarter",
        limit=2,
        rest="the C library's free pages",
    ),
    Target(
        what="service, growth per 1,000 changes, MB",
        benchmark="judge",
        measure="service, 8 clients, growth per 1,000 changes, after the first quarter",
        limit=2,
        rest="the C library's free pages",
    ),
    Target(
        what="256 sessions in Docker that wait for a model, peak memory, MB",
        benchmark="judge",
        measure="256 sessions, peak memory",
        limit=400,
        rest="the modules of agentbench",
    ),
    Target(
        what="the same, added latency of a model call, p99, ms",
        benchmark="judge",
        measure="256 sessions, added latency of a model call, p99",
        limit=50,
        rest="two cores that commands and judged tests use, too",
    ),
    Target(
        what="`agentbench --help`, ms",
        benchmark="startup",
        measure="agentbench --help",
        limit=150,
        rest="typer and its copy of click; the interpreter's own start",
    ),
    Target(
        what="import of `agentbench.scoring`, ms",
        benchmark="startup",
        measure="import agentbench.scoring, without the interpreter",
        limit=60,
        rest="`typing` and `re` of the standard library",
    ),
    Target(
        what="serializer, 100,000 tests, against `json.loads`",
        benchmark="serializer",
        measure="serialize_pytest_results",
        limit=2,
        is_ratio=True,
        rest="`json.loads` itself",
    ),
    Target(
        what="serializer, peak memory against the report's bytes",
        benchmark="serializer",
        measure="peak memory, serialize_pytest_results",
        limit=6,
        is_ratio=True,
        rest="the report as Python objects, which the result shares: 5.2 with `json.loads` alone",
    ),
    Target(
        what="`report` on 1,000,000 records, s",
        benchmark="store",
        measure="report on 1,000,000 records",
        limit=30,
        rest="sha256 of every line, and the search for a line's few fields",
    ),
    Target(
        what="`report` on 1,000,000 records, peak memory, MB",
        benchmark="store",
        measure="report on 1,000,000 records, peak memory",
        limit=500,
        rest="300 bytes per attempt",
    ),
    Target(
        what="gateway, time added to a request, ms",
        benchmark="gateway",
        measure="whole answer, added",
        limit=5,
        rest="a second connection, and the record on disk",
    ),
    *_rivals(),
    Target(
        what="time of `harbor run` divided by agentbench's: 3 imported tasks, warm, 2 at a time",
        benchmark="harbor_run",
        measure="harbor run, 3 tasks, 2 at a time",
        limit=2,
        is_ratio=True,
        is_least=True,
        rest="the containers, and Compose for the task with services",
    ),
)


def main() -> None:
    """Print the page."""
    print(page(figures()), end="")


def figures(folder: Path = RESULTS) -> Figures:
    """What the benchmarks wrote."""
    documents = (json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json")))
    return {document["benchmark"]: document for document in documents}


def page(told: Figures) -> str:
    """The page; what no benchmark has measured is said to be so."""
    return "\n".join([_HEAD, *_targets(told), *_benchmarks(told)]) + "\n"


def _targets(told: Figures) -> Iterator[str]:
    yield "## Targets"
    yield ""
    yield from _row("target", "limit", "measured", "met", "no harness", "main remaining cost")
    yield from _row(*["---"] * 6)
    for target in TARGETS:
        found = _found(target, told)
        value = _UNMEASURED if found is None else _number(found)
        held = "" if found is None else "yes" if target.holds(found) else "**no**"
        limit = f"{'≥' if target.is_least else '≤'} {_number(target.limit)}"
        yield from _row(target.what, limit, value, held, _floor(target, told), target.rest)
    yield ""
    yield "No harness: only the same number of containers and pytest runs, in the same rounds."
    yield "No harness can meet a limit below this value."
    yield ""


def _floor(target: Target, told: Figures) -> str:
    found = None if target.floor is None else _found(target, told, target.floor)
    return "" if found is None else _number(found)


def _found(target: Target, told: Figures, name: str | None = None) -> float | None:
    for measure in told.get(target.benchmark, {}).get("measures", []):
        if measure["name"] == (name or target.measure):
            return measure["ratio"] if target.is_ratio else measure["median"]
    return None


def _benchmarks(told: Figures) -> Iterator[str]:
    for name, document in told.items():
        yield f"## {name}"
        yield ""
        yield _circumstances(document)
        yield ""
        yield from _row("measure", "median", "minimum", "maximum", "ratio")
        yield from _row("---", "---:", "---:", "---:", "---")
        for each in document["measures"]:
            unit = each["unit"]
            numbers = (f"{_number(each[key])} {unit}" for key in ("median", "low", "high"))
            yield from _row(each["name"], *numbers, _ratio(each))
        yield ""
        for note in document["notes"]:
            yield f"- {note}"
        if document["notes"]:
            yield ""


def _circumstances(document: dict[str, object]) -> str:
    machine = document["machine"]
    facts = [
        f"{what}: {value:,}" if isinstance(value, int) else f"{what}: {value}"
        for what, value in document["facts"].items()
    ]
    few = [] if document["rounds"] >= _LEAST_ROUNDS else ["too few to be quoted"]
    return ", ".join(
        [
            f"{document['taken']}: {document['rounds']} rounds",
            *few,
            f"{machine['cores']} cores",
            machine["processor"],
            f"{machine['system']}",
            f"Python {machine['python']}",
            *facts,
        ]
    )


def _ratio(measure: dict[str, object]) -> str:
    if "ratio" not in measure or measure["against"] == measure["name"]:
        return ""
    return f"{measure['ratio']:.2f} x {measure['against']}"


def _row(*cells: str) -> Iterable[str]:
    return [f"| {' | '.join(cells)} |"]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


if __name__ == "__main__":
    main()
