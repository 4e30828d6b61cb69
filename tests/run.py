"""Run one tier of the tests in parallel, then repeat its failures once, alone.

    python -m tests.run quick                  # make test
    python -m tests.run full                   # make test-all
    python -m tests.run full --without quick   # what make test leaves to make test-all
    python -m tests.run quick -k gateway       # what follows goes to pytest

A test that fails again when nothing else runs beside it fails the run. A test that then passes is
FLAKY: the last lines name it, and both outputs stay in test-output/. Add it to tests/FLAKY.md.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from junitparser import JUnitXml, Skipped, TestCase, TestSuite

from tests.scratch import temporary_folder
from tests.tiers import Tier

ROOT = Path(__file__).parents[1]
OUTPUT = ROOT / "test-output"

_TESTS_FAILED = 1  # pytest's exit code for a session that ran to its end, with failures
_WORDS = {"pytest.xfail": "failed as expected"}
_MOST_REPEATED = 25
"""More failures than this are a defect, not chance: to repeat them would say nothing new."""


_HANG = {Tier.QUICK: 900, Tier.FULL: 900, Tier.SOAK: 4 * 3600}
"""After so many seconds a test hangs: several times what the longest takes on a busy machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended: pytest's exit code, and what the repetition said of each failure."""

    code: int
    flaky: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Calls of pytest over one project, and the folder that keeps what they print."""

    root: Path
    output: Path

    def run(self, parallel: Sequence[str], selection: Sequence[str]) -> Outcome:
        """Run the selected tests in parallel, then those that failed alone.

        The output folder holds parallel.txt and, if anything was repeated, alone.txt.
        """
        code = self._pytest([*parallel, *selection], "parallel")
        failed = self._failed()
        if code != _TESTS_FAILED or not 0 < len(failed) <= _MOST_REPEATED:
            return Outcome(code=code, failing=failed)
        print(f"\n== {len(failed)} failed; each is repeated once, alone\n", flush=True)
        self._pytest([*selection, "--last-failed"], "alone")
        flaky = tuple(sorted(set(failed) - set(self._failed())))
        if len(flaky) != _passed(self.output / "alone.xml"):  # one was skipped, or did not run
            flaky = ()
        failing = tuple(sorted(set(failed) - set(flaky)))
        return Outcome(code=_TESTS_FAILED if failing else 0, flaky=flaky, failing=failing)

    def _pytest(self, arguments: Sequence[str], name: str) -> int:
        """Run pytest; what it prints is shown, and kept in a file of this name."""
        command = [
            *(sys.executable, "-m", "pytest", "-o", f"cache_dir={self.output / 'cache'}"),
            *(f"--junitxml={self.output / name}.xml", "-o", "junit_family=xunit1"),
            *arguments,
        ]
        with (
            (self.output / f"{name}.txt").open("wb") as log,
            subprocess.Popen(command, cwd=self.root, stdout=subprocess.PIPE, bufsize=0) as pytest,
        ):
            assert pytest.stdout is not None
            while piece := pytest.stdout.read(1 << 16):
                log.write(piece)
                sys.stdout.buffer.write(piece)
                sys.stdout.flush()
            return pytest.wait()

    def _failed(self) -> tuple[str, ...]:
        """The node ids of what failed last."""
        path = self.output / "cache" / "v" / "cache" / "lastfailed"
        return tuple(sorted(json.loads(path.read_text()))) if path.exists() else ()


def _passed(path: Path) -> int:
    """How many tests a JUnit file says have passed: they ran to their end, without a skip."""
    cases = _cases(path)
    bad = {(case.classname, case.name) for case in cases if case.result}
    return len({(case.classname, case.name) for case in cases} - bad)


def skip_reasons(path: Path) -> Counter[str]:
    """How many tests a JUnit file says were skipped or failed as expected, by their reason."""
    results = [result for case in _cases(path) for result in case.result]
    skipped = [result for result in results if isinstance(result, Skipped)]
    return Counter(f"{_WORDS.get(each.type, 'skipped')}: {each.message}" for each in skipped)


def _cases(path: Path) -> list[TestCase]:
    if not path.exists():
        return []
    suites = JUnitXml.fromfile(str(path))
    cases = [case for suite in suites if isinstance(suite, TestSuite) for case in suite]
    return [case for case in cases if isinstance(case, TestCase)]


def run_tier(tier: Tier, *, without: Tier | None, more: Sequence[str]) -> int:
    """Run a tier and print last what it used and which failures were repeated.

    Returns:
        Pytest's exit code, or 0 if each test that failed passed alone.
    """
    output = OUTPUT / (f"{tier}-without-{without}" if without else str(tier))
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    began = time.monotonic()
    with temporary_folder(os.environ) as scratch:
        os.environ["TMPDIR"] = tempfile.tempdir = scratch
        # The workers share what is below it; names are short, since sockets lie there.
        selection = [f"--basetemp={scratch}/ab-t", f"--tier={tier}", f"--timeout={_HANG[tier]}"]
        selection += more
        if without:
            selection.append(f"--without-tier={without}")
        parallel = [f"--numprocesses={_workers()}", "--dist=worksteal", "--durations=10"]
        outcome = Session(root=ROOT, output=output).run(parallel, selection)
    _print_summary(tier, time.monotonic() - began, outcome, output)
    return outcome.code


def _print_summary(tier: Tier, seconds: float, outcome: Outcome, output: Path) -> None:
    """Print what was skipped and why, what a run used and what became of its failures.

    The same lines go to summary.txt.
    """
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime
    kept = f"outputs: {output}/parallel.txt, {output}/alone.txt"
    repeated = (output / "alone.txt").exists()
    skipped = skip_reasons(output / "parallel.xml")
    lines = [
        *(f"{count} {reason}" for reason, count in skipped.most_common()),
        f"{tier}: {seconds:.0f} s, {cpu:.0f} s of CPU time (without container engines)",
        *(f"FLAKY {name}: failed in parallel, passed alone; {kept}" for name in outcome.flaky),
        *(["add them to tests/FLAKY.md"] if outcome.flaky else []),
        *(f"FAILED {name}: failed again alone; {kept}" for name in outcome.failing if repeated),
    ]
    (output / "summary.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    print("", *lines, sep="\n")


def _workers() -> int:
    """Two for each core, since tests wait for sandboxes much of the time; eight at most."""
    return min(8, 2 * len(os.sched_getaffinity(0)))


def main(arguments: Sequence[str]) -> int:
    """Run the tier that the command line names."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.run", description=__doc__, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    tiers = list(Tier)
    parser.add_argument("tier", type=Tier, choices=tiers, help="which tests to run")
    parser.add_argument("--without", type=Tier, choices=tiers, help="except this tier's tests")
    parsed, more = parser.parse_known_args(arguments)
    return run_tier(parsed.tier, without=parsed.without, more=more)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
