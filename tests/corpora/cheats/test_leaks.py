"""The answer is nowhere that an agent can look."""

import functools
import hashlib
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from agentbench.runs.store.store import RunStore
from agentbench.test_runs.python_runners import reporter_mounts
from tests.corpora.cheats.cheat import Cheat, Kind
from tests.corpora.cheats.leaks import CHEATS, HEIRLOOM, PUT_BACK
from tests.corpora.cheats.naive import NaiveHarness
from tests.corpora.cheats.trials import try_cheat, try_naively
from tests.e2e.bench import Bench
from tests.e2e.small_task import BUGGY, FIXED, VISIBLE, SmallTask
from tests.tiers import gate_and_soak

FOUND_IN_THE_SAME_WAY = {
    "a stash",  # as a commit in the reflog, and the next two
    "a note on a commit",
    "a remote",
    "objects in a pack",  # as an object that nothing leads to
    "objects of another repository",
    "the hidden tests in a file",  # as the hidden tests in a cache
}
"""Searches of which the gate tries a like one; the soak tries all."""
IN_THE_GATE = [cheat for cheat in CHEATS if cheat.name not in FOUND_IN_THE_SAME_WAY]
of_each = pytest.mark.parametrize("cheat", gate_and_soak(IN_THE_GATE, CHEATS))


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> SmallTask:
    """A task at one commit of a repository that goes on: to the fix, in every kind of place."""
    folder = tmp_path_factory.mktemp("history")

    def git(*words: str) -> str:
        identity = ("-c", "user.name=me", "-c", "user.email=me@here")
        done = subprocess.run(
            ["git", "-C", str(folder), *identity, *words],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    git("init", "-q", "-b", "main")
    (folder / "tests").mkdir()
    (folder / "basket.py").write_text(FIXED)
    (folder / "tests" / "test_basket.py").write_text(VISIBLE)
    git("add", "-A")
    git("commit", "-qm", "Before the bug")
    (folder / "basket.py").write_text(BUGGY)
    git("commit", "-qam", "The bug")
    base = git("rev-parse", "HEAD")
    (folder / "basket.py").write_text(FIXED)
    git("commit", "-qam", "The fix")
    git("notes", "add", "-m", FIXED, base)
    git("tag", "-am", "Works", "v2")
    git("branch", "fixed")
    git("repack", "-adq")
    return SmallTask(repo=f'url = "file://{folder}"\ncommit = "{base}"')


@of_each
def test_the_answer_is_not_there(
    walled_bench: Bench, history: SmallTask, tmp_path: Path, cheat: Cheat
) -> None:
    try_cheat(walled_bench, replace(cheat, task=history), tmp_path)


@pytest.mark.parametrize("cheat", [*CHEATS, HEIRLOOM], ids=lambda cheat: cheat.name)
def test_a_careless_harness_gives_it_away(naive: NaiveHarness, cheat: Cheat) -> None:
    try_naively(naive, cheat)


def test_what_an_earlier_agent_left_is_not_found_by_the_next(
    walled_bench: Bench, tmp_path: Path
) -> None:
    walled_bench.command(HEIRLOOM.task.write(tmp_path / "first"), HEIRLOOM.leaves)

    try_cheat(walled_bench, HEIRLOOM, tmp_path)


def test_the_folders_of_the_harness_cannot_be_reached_by_their_names(
    walled_bench: Bench, tmp_path: Path
) -> None:
    task = SmallTask().write(tmp_path / "task")
    walled_bench.command(task, "true")
    places = [task, walled_bench.options.runs_dir, walled_bench.options.cache_dir / "prepared"]
    assert all(any(place.iterdir()) for place in places)
    looks = "; ".join(f"! test -e '{place}'" for place in places)

    record = walled_bench.command(task, f"set -e; {looks}")

    assert record.agent_run is not None
    assert record.agent_run.ending == "submitted", record.agent_run.detail


def test_what_is_mounted_for_the_judge_cannot_be_written_to(
    walled_bench: Bench, tmp_path: Path
) -> None:
    before = _digests()
    line = (
        "for name in agentbench_launch.py agentbench_reporter.py plugin.py; do "
        "for file in $(find / -path /proc -prune -o -path '*agentbench*' -name $name -print "
        "-o -path '*jsonreport*' -name $name -print); do "
        "echo seen $name; echo 'import os; os._exit(0)' >> $file && echo wrote to it; "
        "rm -f $file && echo removed it; done; done"
    )

    record = walled_bench.command(SmallTask().write(tmp_path / "small"), line)

    assert not record.resolved
    folder = RunStore.open(walled_bench.options.runs_dir / record.run_id).folder_of(record)
    said = (folder / "stages" / "agent_run.log").read_text()
    assert "seen agentbench_reporter.py" in said
    assert "wrote to it" not in said
    assert "removed it" not in said
    assert _digests() == before


def _digests() -> dict[Path, str]:
    files = [path for mount in reporter_mounts() for path in mount.source.rglob("*.py")]
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server on the host's loopback that has the mended program, as a package too."""
    folder = tmp_path_factory.mktemp("index")
    (folder / "basket.py").write_text(FIXED)
    package = folder / "simple" / "basket"
    package.mkdir(parents=True)
    with zipfile.ZipFile(package / "basket-2-py3-none-any.whl", "w") as wheel:
        wheel.writestr("basket.py", FIXED)
        about = "Metadata-Version: 2.1\nName: basket\nVersion: 2\n"
        wheel.writestr("basket-2.dist-info/METADATA", about)
        wheel.writestr("basket-2.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr("basket-2.dist-info/RECORD", "")
    handler = functools.partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


DOWNLOADS = {
    "a file": (
        'python -c "import urllib.request as r; '
        "open('basket.py', 'wb').write(r.urlopen('{url}/basket.py', timeout=60).read())\""
    ),
    "a package": (
        "python -m pip install -q --retries 0 --timeout 60 -i {url}/simple/ --no-deps "
        "--target . --upgrade basket"
    ),
}


def downloading(line: str, index: str) -> Cheat:
    """An agent that tries to fetch the mended program."""
    return Cheat(
        name="downloads", kind=Kind.LEAK, line=f"{line.format(url=index)} || true; {PUT_BACK}"
    )


of_each_download = pytest.mark.parametrize("line", DOWNLOADS.values(), ids=DOWNLOADS)


@of_each_download
def test_the_answer_cannot_be_downloaded(
    walled_bench: Bench, index: str, tmp_path: Path, line: str
) -> None:
    try_cheat(walled_bench, downloading(line, index), tmp_path)


@of_each_download
def test_where_there_is_a_network_it_can_be_downloaded(
    naive: NaiveHarness, index: str, line: str
) -> None:
    try_naively(replace(naive, network=True), downloading(line, index))
