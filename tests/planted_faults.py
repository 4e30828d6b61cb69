"""Plant faults in the source, one at a time, and see whether the gate's tests detect them.

    python -m tests.planted_faults                 # all of planted_faults.toml, and of extensions
    python -m tests.planted_faults --only needles  # those with this text in their file or sentence
    python -m tests.planted_faults --list

The faults are planted in a copy of the committed tree. A fault counts as detected if a test fails
with it and passes without it. The exit code is 1 if a fault was not detected.
"""

import argparse
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.scratch import temporary_folder

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_suffix(".toml")
_SHOWN = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedFault:
    """A fault, and the tests that should detect it."""

    what: str
    file: str  # below src/agentbench
    old: str
    new: str
    tests: tuple[str, ...]  # below tests/, tried in this order after the file's own tests

    @property
    def own_tests(self) -> str:
        """Where the file's own tests are, if it has any."""
        folder, _, name = self.file.rpartition("/")
        return f"{folder}/test_{name}".lstrip("/")


def read_faults() -> tuple[PlantedFault, ...]:
    """The faults of the list, and of the extensions' own lists."""
    lists = [LIST, *sorted(LIST.parent.glob(f"extensions/*/{LIST.name}"))]
    entries = [one for path in lists for one in tomllib.loads(path.read_text("utf-8"))["fault"]]
    return tuple(PlantedFault(**{**entry, "tests": tuple(entry["tests"])}) for entry in entries)


def plant(text: str, fault: PlantedFault) -> str:
    """Put a fault into a source text.

    Raises:
        ValueError: The text that the fault replaces does not stand there exactly once.
    """
    found = text.count(fault.old)
    if found != 1:
        raise ValueError(
            f"{fault.file}: expected {fault.old!r} once, found it {found} times; "
            f"correct the fault in {LIST.name}"
        )
    return text.replace(fault.old, fault.new)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCopy:
    """A copy of the committed tree."""

    folder: Path

    @classmethod
    def of_head(cls, folder: Path) -> "SourceCopy":
        """Copy what is committed into a new folder."""
        clone = ["git", "clone", "--quiet", str(ROOT), str(folder)]
        subprocess.run(clone, check=True)
        return cls(folder=folder)

    def failing(self, tests: str) -> str | None:
        """The first test that fails, or how pytest ended without naming one; None if none does."""
        environment = {**os.environ, "PYTHONPATH": str(self.folder / "src")}
        command = [sys.executable, "-m", "pytest", "--tier=full", "-x", "-q", "-pno:cacheprovider"]
        ran = subprocess.run(
            [*command, tests],
            cwd=self.folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if ran.returncode == 0:
            return None
        return next(iter(_SHOWN.findall(ran.stdout)), f"pytest ended with {ran.returncode}")

    def detects(self, fault: PlantedFault) -> str | None:
        """The test that detects a fault, or None."""
        path = self.folder / "src" / "agentbench" / fault.file
        sound = path.read_text("utf-8")
        path.write_text(plant(sound, fault), "utf-8")
        try:
            tests, failing = self._first_failing([fault.own_tests, *fault.tests])
        finally:
            path.write_text(sound, "utf-8")
        if failing is None:
            return None
        if self.failing(failing if "::" in failing else tests):
            raise SystemExit(f"{failing} fails without a fault, too: {fault.what}")
        return failing

    def _first_failing(self, names: Sequence[str]) -> tuple[str, str | None]:
        """The first of some paths below tests/ in which a test fails, and that test."""
        for name in dict.fromkeys(names):
            if (self.folder / "tests" / name).exists():
                failing = self.failing(f"tests/{name}")
                if failing is not None:
                    return f"tests/{name}", failing
        return "", None


def select_faults(faults: Sequence[PlantedFault], only: str) -> Iterator[PlantedFault]:
    """The faults with a text in their file or their sentence."""
    return (fault for fault in faults if only in fault.file or only in fault.what)


def main(arguments: Sequence[str]) -> int:
    """Plant the faults that the command line chooses."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.planted_faults", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--only", default="", help="a text in the fault's file or sentence")
    parser.add_argument("--list", action="store_true", help="print the faults and end")
    parsed = parser.parse_args(arguments)
    faults = list(select_faults(read_faults(), parsed.only))
    if not faults:
        parser.error(f"--only {parsed.only!r} selects no fault; --list prints them all")
    if parsed.list:
        print(*(f"{fault.file}: {fault.what}" for fault in faults), sep="\n")
        return 0
    missed = 0
    with temporary_folder(os.environ) as scratch:
        copy = SourceCopy.of_head(Path(scratch) / "tree")
        for number, fault in enumerate(faults, start=1):
            began = time.monotonic()
            test = copy.detects(fault)
            missed += test is None
            spent = f"{time.monotonic() - began:.0f} s"
            said = test or "NOT DETECTED"
            print(number, fault.file, fault.what, said, spent, sep="\t", flush=True)
    print(f"{len(faults) - missed} of {len(faults)} faults were detected")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
