"""Any flipped bit and any cut in what lies on disk is detected and named, or does no harm."""

import json
import logging
import os
import random
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from agentbench.attempt.preparation_cache import PreparationCache
from agentbench.runs.store.store import RunStore
from agentbench.sandbox.registry import select_back_end
from agentbench.taxonomy import FailureReason
from tests.cli.conftest import Said, call
from tests.e2e.small_task import FIX, PARTIAL_FIX, SmallTask
from tests.tasks.origins import Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """What was done to a file."""

    path: Path
    what: str

    def __str__(self) -> str:
        """The file, and what was done where."""
        return f"{self.path}: {self.what}"


def damage(path: Path, draw: random.Random) -> Damage:
    """Flip one bit of a file, or cut it off; where it is, so that hard links see it too.

    The mode stays as it was; files of git's are read-only.
    """
    mode, size = path.stat().st_mode, path.stat().st_size
    path.chmod(mode | 0o200)
    try:
        if not size:
            path.write_bytes(b"\0")
            return Damage(path=path, what="a byte where none was")
        at = draw.randrange(size)
        if draw.random() < 0.3:
            os.truncate(path, at)
            return Damage(path=path, what=f"cut off at {at} of {size}")
        bit = 1 << draw.randrange(8)
        with path.open("r+b") as file:
            file.seek(at)
            (byte,) = file.read(1)
            file.seek(at)
            file.write(bytes([byte ^ bit]))
        return Damage(path=path, what=f"bit {bit:#04x} flipped at {at} of {size}")
    finally:
        path.chmod(mode)


AGENT = f'case "$(cat which.txt)" in a) {FIX};; b) {PARTIAL_FIX};; c) exit 3;; esac'
VERDICTS: Mapping[str, FailureReason | None] = {
    "a": None,
    "b": FailureReason.TESTS_FAILED,
    "c": FailureReason.TOOL_ERROR,
}
RUN_FILES = ("run.json", "attempts.jsonl", "attempts/*/*/record.json")
PREPARED = (
    "prepared/*/*/stages.json",
    "prepared/*/*/base.json",
    "prepared/*/*/base.contents",
    "prepared/*/baseline-*.json",
)
CACHE_FILES = (
    *PREPARED,
    "*/snapshots/keys/*",
    "*/snapshots/states/*/state.json",
    "*/snapshots/states/*/workspace/**/*",
    "*/snapshots/states/*/venv/**/*",
    "*/images/keys/*",
    "*/images/states/*/state.json",
    "*/images/states/*/venv/**/*",
    "mirrors/*/config",
    "mirrors/*/HEAD",
    "mirrors/*/packed-refs",
    "mirrors/*/objects/**/*",
    "mirrors/*/agentbench.json",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A run that nothing has damaged, and the cache that it left."""

    folder: Path
    sandbox: str

    @property
    def run(self) -> Path:
        """Its folder."""
        return self.folder / "runs" / "whole"

    def copied(self, part: str, target: Path) -> Path:
        """A copy of the runs or of the cache, hard links, owners and all."""
        subprocess.run(["cp", "-a", str(self.folder / part), str(target)], check=True)
        return target

    @property
    def verdicts(self) -> Mapping[str, FailureReason | None]:
        """What its tasks end in."""
        return {path.name: VERDICTS[path.name] for path in (self.folder / "tasks").iterdir()}

    def line(self, runs_dir: Path, *more: str) -> tuple[object, ...]:
        """The words of another run of the same."""
        return (
            "run", self.folder / "tasks", "--agent", "command", "--agent-command", AGENT, "-q",
            "--sandbox", self.sandbox, "--run-id", "whole", "--runs-dir", runs_dir,
            "--allow-unsandboxed", "-j", "2", "--integrity-controls", "off", *more,
        )  # fmt: skip


def _tasks(folder: Path) -> None:
    """Three tasks that end differently; one of them comes from a repository with a history."""
    for which in VERDICTS:
        SmallTask(files={**SmallTask().files, "which.txt": which}).write(folder / which)
    origin = Origin(folder.parent / "origin")
    shutil.copytree(folder / "b" / "repo", origin.path, dirs_exist_ok=True)
    origin.git("add", "--all")
    commit = origin.commit()
    origin.git("bundle", "create", "--quiet", str(folder / "b" / "origin.bundle"), "main")
    shutil.rmtree(folder / "b" / "repo")
    text = (folder / "b" / "task.toml").read_text()
    where = f'url = "origin.bundle"\ncommit = "{commit}"'
    (folder / "b" / "task.toml").write_text(text.replace('path = "repo"', where))


@pytest.fixture(scope="module")
def make_whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """Makes an undisturbed run on a back end, on a cache of its own."""
    created: dict[str, Whole] = {}
    before = os.environ["AGENTBENCH_CACHE"]

    def make(sandbox: str) -> Whole:
        if sandbox not in created:
            folder = tmp_path_factory.mktemp(f"whole-{sandbox}")
            _tasks(folder / "tasks")
            if sandbox == "docker":  # what is damaged there is alike for all tasks
                for which in ("b", "c"):
                    shutil.rmtree(folder / "tasks" / which)
            whole = Whole(folder=folder, sandbox=sandbox)
            os.environ["AGENTBENCH_CACHE"] = str(folder / "cache")
            try:
                reported = call(*whole.line(folder / "runs"))
            finally:
                os.environ["AGENTBENCH_CACHE"] = before
            assert reported.code == 0, reported.stderr
            assert _verdicts(whole.run) == whole.verdicts
            created[sandbox] = whole
        return created[sandbox]

    yield make
    if "docker" in created:
        _discard_snapshots(created["docker"].folder / "cache")


@pytest.mark.usefixtures("bubblewrap")
def test_damaged_run_is_reported_shown_and_resumed(
    make_whole, tmp_path, monkeypatch, chaos_seed, whole
):
    draw = random.Random(f"{chaos_seed} runs")
    intact = make_whole("bubblewrap")
    monkeypatch.setenv("AGENTBENCH_CACHE", str(intact.folder / "cache"))
    for number in range(80 if whole else len(RUN_FILES)):
        runs = intact.copied("runs", tmp_path / f"runs-{number}")
        done = damage(_chosen(runs / "whole", RUN_FILES, number, draw), draw)
        _read_and_resume(intact, runs, done, f"seed {chaos_seed}, case {number}: {done}")
        shutil.rmtree(runs)


@pytest.mark.usefixtures("bubblewrap")
def test_a_damaged_cache_of_bubblewrap_changes_no_verdict(
    make_whole, tmp_path, monkeypatch, caplog, chaos_seed, whole
):
    cases = Cases(make_whole("bubblewrap"), tmp_path, monkeypatch, caplog)
    cases.run(CACHE_FILES, f"{chaos_seed} bubblewrap", 100 if whole else 2)


@pytest.mark.soak
def test_a_damaged_cache_of_plain_processes_changes_no_verdict(
    make_whole, tmp_path, monkeypatch, caplog, chaos_seed, whole
):
    cases = Cases(make_whole("process"), tmp_path, monkeypatch, caplog)
    cases.run(CACHE_FILES, f"{chaos_seed} process", 40 if whole else 1)


@pytest.mark.docker
@pytest.mark.usefixtures("docker")
def test_a_damaged_preparation_of_containers_changes_no_verdict(
    make_whole, tmp_path, monkeypatch, caplog, chaos_seed, whole
):
    cases = Cases(make_whole("docker"), tmp_path, monkeypatch, caplog)
    cases.run(PREPARED, f"{chaos_seed} docker", 20 if whole else 1)


@dataclass(frozen=True, slots=True)
class Cases:
    """Runs on copies of a cache, each damaged in one place."""

    intact: Whole
    folder: Path
    monkeypatch: pytest.MonkeyPatch
    caplog: pytest.LogCaptureFixture

    def run(self, patterns: tuple[str, ...], seed: str, count: int) -> None:
        """As many cases as are wanted; each pattern has its turn."""
        draw = random.Random(seed)
        first = draw.randrange(len(patterns))  # a small sample begins anywhere
        for number in range(count):
            # A place of its own, or this process would know it to be whole.
            cache = self.intact.copied("cache", self.folder / f"cache-{number}")
            path = _chosen(cache, patterns, first + number, draw)
            done = damage(path, draw)
            self._new_run(cache, done, f"seed {seed!r}, case {number}: {done}")
            subprocess.run(["rm", "-rf", str(cache)], check=True)

    def _new_run(self, cache: Path, done: Damage, case: str) -> None:
        before = done.path.read_bytes(), done.path.stat().st_ino
        self.monkeypatch.setenv("AGENTBENCH_CACHE", str(cache))
        self.caplog.clear()
        runs = self.folder / "runs"
        with self.caplog.at_level(logging.WARNING):
            reported = call(*self.intact.line(runs, *_so_that_it_is_used(done)))
        assert reported.code == 0, f"{case}\n{reported.stderr}"
        assert _verdicts(runs / "whole") == self.intact.verdicts, case
        there = done.path.exists()
        same = there and (done.path.read_bytes(), done.path.stat().st_ino) == before
        assert not same, f"{case}\nwas left as it is"
        if done.path.parent.name != "keys":  # a key that names nothing is no key
            logged = self.caplog.text
            assert "recreated" in logged, case
        shutil.rmtree(runs)


def _so_that_it_is_used(done: Damage) -> tuple[str, ...]:
    """What lies under a preparation is wanted only where there is none."""
    deep = "mirrors" in done.path.parts or "images" in done.path.parts
    return ("--no-cache",) if deep else ()


def _read_and_resume(intact: Whole, runs: Path, done: Damage, case: str) -> None:
    report = call("report", "whole", "--format", "json", "--runs-dir", runs)
    assert report.code == 0, f"{case}\n{report.stderr}"
    expected = _rows(_of_the_intact(intact, "report", "whole", "--format", "json"))
    rows = _rows(report)
    assert all(row in expected for row in rows), case
    if done.path.name != "attempts.jsonl":  # a cut takes any number of lines
        assert rows == expected, f"{case}\n{report.stderr}"
    elif rows != expected and not _has_only_records(done.path, len(rows)):
        assert done.path.name in report.stderr, f"{case}\n{report.stderr}"
    resumed = call("resume", "whole", "--runs-dir", runs)
    if done.path.name == "run.json":
        assert resumed.code == 65, f"{case}\n{resumed.stderr}"
        assert "run.json: " in resumed.stderr, case
    else:
        assert resumed.code == 0, f"{case}\n{resumed.stderr}"
    # A lost line is written again from the record in the folder of its attempt.
    assert _verdicts(runs / "whole") == VERDICTS, case
    assert _rows(call("report", "whole", "--format", "json", "--runs-dir", runs)) == expected, case
    for task in VERDICTS:
        shown = call("show", "whole", task, "--runs-dir", runs)
        whole = _of_the_intact(intact, "show", "whole", task)
        assert shown.code == 0, f"{case}\n{shown.stderr}"
        expected_page = whole.stdout.replace(str(intact.run.parent), str(runs))
        if done.path.name == "run.json":  # which says where the task is that the agent worked on
            assert _without_story(shown.stdout) == _without_story(expected_page), case
            assert "  is not known, since" in shown.stdout, case
        else:
            assert shown.stdout == expected_page, case


def _without_story(page: str) -> str:
    before, _, rest = page.partition("what the agent did\n")
    return before + rest.partition("\n\n")[2]


def _has_only_records(path: Path, count: int) -> bool:
    """Whether a file was cut exactly between two lines, which leaves nothing to warn of."""
    content = path.read_bytes()
    return content.count(b"\n") == count and content[-1:] in (b"\n", b"")


@cache
def _of_the_intact(intact: Whole, *words: str) -> Said:
    """What a command says of the undamaged run, the same in every case."""
    return call(*words, "--runs-dir", intact.run.parent)


def _rows(reported: Said) -> list[object]:
    return sorted(json.loads(reported.stdout)["attempts"], key=lambda row: row["task_id"])


def _verdicts(run: Path) -> dict[str, FailureReason | None]:
    records = RunStore.open(run).latest()
    return {record.task_id: record.failure_reason for record in records}


def _chosen(folder: Path, patterns: tuple[str, ...], number: int, draw: random.Random) -> Path:
    """One of the files of the pattern whose turn it is."""
    pattern = patterns[number % len(patterns)]
    found = [path for path in folder.glob(pattern) if path.is_file() and not path.is_symlink()]
    assert found, f"{pattern}: no such file, so nothing is tried"
    return draw.choice(sorted(found))


def _discard_snapshots(cache: Path) -> None:
    provider = select_back_end("docker", cache_dir=cache).provider
    kept = PreparationCache(cache / "prepared", provider)
    for folder in (cache / "prepared" / "docker").glob("*/"):
        kept.forget(folder.name)
