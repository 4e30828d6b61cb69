"""The version that a project's tags give a commit: as setuptools-scm has it in a whole clone."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.version import Version
from vcs_versioning import VcsEnvironment

from agentbench.tasks.mirror import Mirror, Mirrors
from agentbench.tasks.project_versions import scm_version
from agentbench.tasks.task import RepoSource
from tests.tasks.origins import Origin, run_git

pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore::UserWarning"),
]  # what setuptools-scm cannot read

# Tag, commits since then, and the version without its local part.
FORMS: tuple[tuple[str, int, str], ...] = (
    ("1", 0, "1"),
    ("1", 2, "2.dev2"),
    ("1.2", 0, "1.2"),
    ("1.2", 3, "1.3.dev3"),
    ("v1.2", 0, "1.2"),
    ("v1.2", 1, "1.3.dev1"),
    ("V1.2", 0, "1.2"),
    ("1.2.3", 0, "1.2.3"),
    ("1.2.3", 4, "1.2.4.dev4"),
    ("v1.2.3", 12, "1.2.4.dev12"),
    ("1.2.3.4", 0, "1.2.3.4"),
    ("1.2.3.4", 1, "1.2.3.5.dev1"),
    ("0.9.99", 1, "0.9.100.dev1"),
    ("1.02", 0, "1.2"),
    ("2026.11", 0, "2026.11"),
    ("2026.11.24", 2, "2026.11.25.dev2"),
    ("8.0.0.dev0", 0, "8.0.0.dev0"),
    ("8.0.0.dev0", 53, "8.0.0.dev53"),
    ("v2.0.dev0", 1, "2.0.dev1"),
    ("1.2.dev5", 0, "1.2.dev5"),
    ("2.0a1", 0, "2.0a1"),
    ("2.0a1", 1, "2.0a2.dev1"),
    ("2.0b3", 2, "2.0b4.dev2"),
    ("2.0rc1", 0, "2.0rc1"),
    ("2.0rc1", 7, "2.0rc2.dev7"),
    ("v2.0-rc1", 0, "2.0rc1"),
    ("v2.0-rc.1", 1, "2.0rc2.dev1"),
    ("2.0-alpha", 0, "2.0a0"),
    ("2.0.beta2", 1, "2.0b3.dev1"),
    ("2.0c1", 0, "2.0rc1"),
    ("1.2.post1", 0, "1.2.post1"),
    ("1.2.post1", 1, "1.2.post2.dev1"),
    ("1.2-1", 0, "1.2.post1"),
    ("1.2.post0", 2, "1.2.post1.dev2"),
    ("1!2.0", 0, "1!2.0"),
    ("1!2.0", 3, "1!2.1.dev3"),
    ("v1!2.0rc1", 1, "1!2.0rc2.dev1"),
    ("1.2+local", 0, "1.2"),
    ("1.2+local", 2, "1.3.dev2"),
    ("v1.2+ubuntu.1", 0, "1.2"),
    ("project-1.2", 0, "1.2"),
    ("project-1.2", 5, "1.3.dev5"),
    ("project-v1.2", 1, "1.3.dev1"),
    ("my_project-1.2.3", 0, "1.2.3"),
    ("two-words-2.0rc1", 1, "2.0rc2.dev1"),
    ("release-2.0", 1, "2.1.dev1"),
    ("rel-1.2.post1", 0, "1.2.post1"),
    ("py3-1.2", 0, "1.2"),
)

# Here setuptools-scm gives up, or takes a repository for one without tags.
REFUSED: tuple[tuple[str | None, int, str | None], ...] = (
    (None, 3, None),
    ("nightly", 1, None),
    ("nightly-x86", 1, None),
    ("v1.2-beta-x", 0, None),
    ("1.2-0-g1234567", 0, None),
    ("REL-1_2", 0, None),
    ("1.2.dev5", 1, "1.2.dev5"),
    ("shop/v3", 0, "3"),
    ("packages/shop/v3.1", 2, "3.2.dev2"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Histories:
    """One repository with a history of its own for each form."""

    origin: Origin
    mirrors: Mirrors
    commits: dict[tuple[str | None, int], str]

    def mirror(self, tag: str | None, distance: int) -> Mirror:
        commit = self.commits[tag, distance]
        return self.mirrors.of(RepoSource(url=self.origin.url, commit=commit))

    def by_setuptools_scm(self, tag: str | None, distance: int) -> str | None:
        """What it says of a whole clone at that commit; None: nothing, or that it cannot tell."""
        self.origin.git("checkout", "--quiet", "--force", "--detach", self.commits[tag, distance])
        config = VcsEnvironment.from_env(env={}).build_config_from_data(
            relative_to=self.origin.path / "pyproject.toml", data={}
        )
        workdir = config.discover_workdir()
        assert workdir is not None
        try:
            found = workdir.get_scm_version()
            return found.format() if found is not None else None
        except ValueError:
            return None


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> Histories:
    folder = tmp_path_factory.mktemp("histories")
    origin, commits = Origin(folder / "origin"), {}
    rows = [(tag, distance) for tag, distance, _version in (*FORMS, *REFUSED)]
    for number, tag in enumerate(dict.fromkeys(tag for tag, _distance in rows)):
        distances = [distance for each, distance in rows if each == tag]
        origin.git("fast-import", "--quiet", stdin=b"".join(_commits(number, max(distances))))
        chain = origin.git("rev-list", "--reverse", f"b{number}").split()
        if tag is not None:
            origin.git("tag", tag, chain[0])
        commits |= {(tag, distance): chain[distance] for distance in distances}
    return Histories(origin=origin, mirrors=Mirrors(folder / "mirrors"), commits=commits)


def _commits(number: int, most: int) -> Iterator[bytes]:
    for place in range(most + 1):
        message = f"history {number}, commit {place}".encode()
        yield b"commit refs/heads/b%d\ncommitter a <a@localhost> %d +0000\n" % (number, place)
        yield b"data %d\n%b\n" % (len(message), message)


def _public(version: str | None) -> str | None:
    return None if version is None else Version(version).public


@pytest.mark.parametrize(("tag", "distance", "version"), FORMS)
def test_a_version_is_the_one_that_setuptools_scm_gives_a_whole_clone(
    histories: Histories, tag: str, distance: int, version: str
) -> None:
    found = scm_version(histories.mirror(tag, distance))
    assert found == histories.by_setuptools_scm(tag, distance)
    assert _public(found) == version


@pytest.mark.parametrize(("tag", "distance", "version"), REFUSED)
def test_unsupported_tags_give_plain_version(
    histories: Histories, tag: str | None, distance: int, version: str | None
) -> None:
    assert histories.by_setuptools_scm(tag, distance) in (
        None,
        *_untagged(histories, tag, distance),
    )
    assert _public(scm_version(histories.mirror(tag, distance))) == version


def _untagged(histories: Histories, tag: str | None, distance: int) -> tuple[str, ...]:
    commit = histories.commits[tag, distance]
    return (f"0.1.dev{distance + 1}+g{commit[:9]}",)


def test_the_nearest_tag_decides_and_an_annotated_one_comes_first(tmp_path: Path) -> None:
    origin = Origin(tmp_path / "origin")
    origin.commit()
    origin.git("tag", "1.0")
    origin.commit()
    origin.git("tag", "2.0rc1")
    origin.git("tag", "--annotate", "--message", "it", "2.0")
    origin.git("tag", "latest")
    source = RepoSource(url=origin.url, commit=origin.commit())
    found = scm_version(Mirrors(tmp_path / "mirrors").of(source))
    assert _public(found) == "2.1.dev1"


def test_version_ignores_changes_and_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = Origin(tmp_path / "origin")
    origin.write("a.py", "")
    source = RepoSource(url=origin.url, commit=origin.commit())
    origin.git("tag", "v1.2")
    origin.write("a.py", "changed = True\n")
    (tmp_path / "pyproject.toml").write_text("[tool.setuptools_scm]\nversion_scheme = 'no-such'\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SETUPTOOLS_SCM_PRETEND_VERSION", "9.9")
    monkeypatch.setenv("SETUPTOOLS_SCM_OVERRIDES", "{version_scheme = 'no-such'}")
    assert scm_version(Mirrors(tmp_path / "mirrors").of(source)) == "1.2"


def test_layout_of_pytest_gets_its_version(tmp_path: Path) -> None:
    """In a sandbox there is one commit without tags, and the version in a variable."""
    origin = Origin(tmp_path / "origin")
    origin.write("pyproject.toml", '[tool.setuptools_scm]\nwrite_to = "src/_pytest/_version.py"\n')
    origin.write("setup.cfg", "[metadata]\nname = pytest\n")
    origin.write("src/_pytest/__init__.py", "")
    origin.commit()
    origin.git("tag", "8.0.0.dev0")
    commit = [origin.commit() for _ in range(53)][-1]
    version = scm_version(Mirrors(tmp_path / "m").of(RepoSource(url=origin.url, commit=commit)))
    run_git("clone", "--quiet", "--depth=1", "--no-tags", origin.url, "here", cwd=tmp_path)

    def asked(**variables: str) -> str:
        command = [sys.executable, "-W", "ignore", "-m", "setuptools_scm"]
        done = subprocess.run(
            command,
            cwd=tmp_path / "here",
            env={"PATH": "/usr/bin:/bin", **variables},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    assert asked().startswith("0.1.dev1+g")
    assert version == f"8.0.0.dev53+g{commit[:9]}"
    assert asked(SETUPTOOLS_SCM_PRETEND_VERSION=version) == version
