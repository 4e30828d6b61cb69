"""SWE-bench instances of real packages, made from two releases of each as its authors made theirs.

The commit is the older release; the patch and the test patch are the difference to the newer one.
Which tests that mends is found by running them before and after, and reading pytest's log with
SWE-bench's own parser.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from tests.extensions.swebench.e2e.swebench_tool import Tool
from tests.tasks.origins import Origin, raw_git


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """Two releases of a package; its source needs nothing but Python."""

    repo: str
    package: str
    old: str
    new: str

    @property
    def instance_id(self) -> str:
        return f"{self.repo.replace('/', '__')}-{self.new.replace('.', '')}"


UPGRADES = (
    Upgrade(repo="mahmoud/Boltons", package="boltons", old="23.0.0", new="23.1.0"),
    Upgrade(repo="tkem/CacheTools", package="cachetools", old="5.0.0", new="5.1.0"),
    Upgrade(
        repo="more-itertools/more-itertools", package="more-itertools", old="10.1.0", new="10.2.0"
    ),
    # Its tests' parameters have blanks, at which SWE-bench's names of them end.
    Upgrade(repo="jpvanhal/inflection", package="inflection", old="0.3.1", new="0.4.0"),
)
FEW = (UPGRADES[1], UPGRADES[3])
"""What the gate tries: a short one with capital letters, and one with blanks in parameters."""

RECIPES = "\n".join(
    f'[[recipe]]\nrepo = "{each.repo}"\ntest_command = "python -m pytest -rA"\n'
    for each in UPGRADES
)


def make_instance(upgrade: Upgrade, repos: Path, scratch: Path, tool: Tool) -> dict[str, str]:
    """Make the repository of a package below `repos`, and its instance."""
    trees = _unpacked(upgrade, scratch)
    origin = Origin(repos / upgrade.repo)
    _fill(origin.path, trees["old"])
    commit = origin.commit(upgrade.old)
    _fill(origin.path, trees["new"])
    origin.git("add", "--all")
    tests = ("tests", ":(glob)**/test_*.py")
    test_patch = _diff(origin, *tests)
    others = ("PKG-INFO", "tests", "test_*.py")
    patch = _diff(origin, ".", *(f":(exclude){path}" for path in others))
    files = _test_files(origin, *tests)
    after = _statuses(origin.path, files, tool)
    origin.git("reset", "--hard", "--quiet")
    origin.git("apply", "--index", stdin=test_patch.encode())
    before = _statuses(origin.path, files, tool)
    origin.git("reset", "--hard", "--quiet")
    passing = [name for name, status in after.items() if status == "PASSED"]
    fixed = [name for name in passing if before.get(name) != "PASSED"]
    return {
        "repo": upgrade.repo,
        "instance_id": upgrade.instance_id,
        "base_commit": commit,
        "patch": patch,
        "test_patch": test_patch,
        "problem_statement": f"What {upgrade.package} {upgrade.new} brings is missing.",
        "hints_text": "",
        "created_at": "2024-01-01T00:00:00Z",
        "version": upgrade.old,
        "FAIL_TO_PASS": json.dumps(fixed),
        "PASS_TO_PASS": json.dumps([name for name in passing if name not in set(fixed)]),
        "environment_setup_commit": commit,
    }


def _unpacked(upgrade: Upgrade, scratch: Path) -> dict[str, Path]:
    # Another extension, which may be deleted; `benchmark` then skips its tests.
    from agentbench.extensions.releases.package_index import (
        PackageIndex,
        Release,
        RequestedReleases,
        read_pip_settings,
    )
    from agentbench.extensions.releases.sdist import remove_generated, unpack_sdist

    pair = RequestedReleases(
        package=upgrade.package, old=Version(upgrade.old), new=Version(upgrade.new)
    )
    with PackageIndex(read_pip_settings()) as index:
        found = index.pair(pair)
        releases: dict[str, Release] = {"old": found.old, "new": found.new}
        trees = {
            name: unpack_sdist(index.download(release, scratch), scratch / upgrade.package / name)
            for name, release in releases.items()
        }
    for tree in trees.values():
        remove_generated(tree)
    return trees


def _fill(target: Path, tree: Path) -> None:
    for path in target.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(tree, target, dirs_exist_ok=True)


def _diff(origin: Origin, *paths: str) -> str:
    return raw_git("diff", "--cached", "--", *paths, cwd=origin.path).decode()


def _test_files(origin: Origin, *paths: str) -> list[str]:
    names = origin.git("diff", "--cached", "--name-only", "--diff-filter=d", "--", *paths)
    return [name for name in names.splitlines() if Path(name).name.startswith("test_")]


def _statuses(tree: Path, files: list[str], tool: Tool) -> dict[str, str]:
    command = [sys.executable, "-m", "pytest", "-rA", "--tb=no", "-p", "no:cacheprovider", *files]
    env = {**os.environ, "PYTHONPATH": "src", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, cwd=tree, env=env, capture_output=True, text=True, check=False, timeout=300
    )
    return tool.statuses(done.stdout)
