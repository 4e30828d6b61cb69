"""Tasks of releases: how many of these pairs on the package index become good tasks, here and now.

Nothing of them is stored in this repository: each pair is downloaded, made a task and proven in a
sandbox, and then the kept ones are judged once more with oracle and noop. Some 40 minutes on two
cores. Run: python benchmarks/releases.py [--sandbox docker] [--out FOLDER]
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import mkdtemp

from agentbench.extensions.releases.release_import import ImportedPair
from agentbench.importers.candidates import CandidateOutcome

PAIRS = """\
blinker 1.8.2 1.9.0
cachetools 8.0.0 8.0.1
colorama 0.4.5 0.4.6
cssselect 1.5.0 1.6.0
decorator 5.3.0 5.3.1
first 2.0.1 2.0.2
furl 2.1.3 2.1.4
glom 24.11.0 25.12.0
h11 0.15.0 0.16.0
hpack 4.1.0 4.2.0
hyperframe 6.0.1 6.1.0
iniconfig 2.3.0 2.3.1
itsdangerous 2.1.2 2.2.0
jsonpatch 1.46 1.47
jsonpointer 3.11 3.12
parse 1.22.3 1.22.4
pathspec 1.1.0 1.1.1
pyjwt 2.15.0 2.15.1
python-dotenv 1.2.3 1.2.4
python-slugify 9.1.3 9.2.0
pytimeparse 1.1.9 1.1.10
schedule 1.2.1 1.2.2
schema 0.7.7 0.7.8
semver 3.1.0 3.1.1
simpleeval 1.0.7 1.0.8
sqlparse 0.6.0 0.6.1
termcolor 3.2.0 3.3.0
texttable 1.7.1 1.7.2
tinydb 4.8.2 4.9.0
toolz 1.1.0 1.2.0
treelib 1.7.1 1.8.0
uritemplate 4.1.1 4.2.0
voluptuous 0.15.2 0.16.0
webcolors 24.11.1 25.10.0
wrapt 1.17.2 1.17.3
wtforms 3.3.1 3.3.2
xmltodict 1.0.3 1.0.4
"""
"""What is tried: pure Python with tests in the source distribution, and some that cannot do."""

_LONGEST = 90  # characters of a reason in the table


def main() -> None:
    """Make, prove, judge, and print a table for docs/tasks/release.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sandbox", default="docker")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    out = options.out or Path(mkdtemp(prefix="agentbench-releases-"))
    where = ("--sandbox", options.sandbox, "--runs-dir", str(out / "runs"))
    entries = made(out, where)
    print(table(entries))
    kept = [str(entry.task) for entry in entries if entry.fate is CandidateOutcome.KEPT]
    for agent in ("oracle", "noop"):
        resolved = judged(kept, agent, where)
        print(f"{agent}: resolved {resolved} of {len(kept)}")


def made(out: Path, where: Sequence[str]) -> list[ImportedPair]:
    """Import every pair; what became of each."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "pairs").write_text(PAIRS)
    command = ("tasks", "import", "release", "--from", out / "pairs", "--out", out / "tasks")
    rows = _said(*command, "--json", *where)["pairs"]
    return [ImportedPair.model_validate(row) for row in rows]


def judged(tasks: Sequence[str], agent: str, where: Sequence[str]) -> int:
    """How many of some tasks an agent resolves."""
    if not tasks:
        return 0
    records = _said("run", *tasks, "--agent", agent, "--json", *where)["records"]
    return sum(record["resolved"] for record in records)


def table(entries: Iterable[ImportedPair]) -> str:
    """The yield as Markdown, the kept pairs first."""
    ordered = sorted(entries, key=lambda entry: entry.fate is not CandidateOutcome.KEPT)
    rows = [
        f"| {entry.package} | {entry.old} | {entry.new} | {entry.fate} | {_result(entry)} |"
        for entry in ordered
    ]
    kept = sum(entry.fate is CandidateOutcome.KEPT for entry in ordered)
    head = "| package | old | new | | tests to fix, or why not |\n| --- | --- | --- | --- | --- |"
    return "\n".join([head, *rows, "", f"{len(ordered)} tried, {kept} kept."])


def _result(entry: ImportedPair) -> str:
    if entry.fate is CandidateOutcome.KEPT:
        return str(entry.fail_to_pass)
    said = "; ".join(entry.reasons).replace("|", "/")
    return said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1]}…"


def _said(*arguments: object) -> dict[str, list[dict[str, object]]]:
    argv = [sys.executable, "-m", "agentbench", *map(str, arguments)]
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=False)
    document: dict[str, list[dict[str, object]]] = json.loads(done.stdout)
    return document


if __name__ == "__main__":
    main()
