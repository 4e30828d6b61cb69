"""How an instance of SWE-bench is set up where no recipe and no image says so."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path, PurePosixPath

from agentbench.curation.environments import Change, Environments
from agentbench.errors import GitCloneError, InputError
from agentbench.owned_folder import owned_folder
from agentbench.tasks.history.commit import find_commit
from agentbench.tasks.history.file_kind import bears_tests
from agentbench.tasks.history.tree import write_files_of
from agentbench.tasks.importers.swebench.clone_url import clone_url
from agentbench.tasks.importers.swebench.instance import Instance
from agentbench.tasks.importers.swebench.surroundings import Surroundings, UnknownSurroundingsError
from agentbench.tasks.mirror import Mirror, Mirrors
from agentbench.tasks.overlay import PatchDoesNotApplyError, overlay_of
from agentbench.tasks.patched_file import PatchedFile
from agentbench.tasks.source import RepoSource


class InstanceEnvironments:
    """Finds out by trying, once for the instances of a repository that describe it alike."""

    def __init__(self, environments: Environments, mirrors: Mirrors, *, repos: Path | None) -> None:
        self._environments = environments
        self._mirrors = mirrors
        self._repos = repos

    def detect(self, instance: Instance) -> Surroundings | None:
        """What an instance is set up in; None where it is not of the kind that can be tried.

        Raises:
            UnknownSurroundingsError: nothing that was thought of holds, or it cannot be tried.
            UnavailableError: there is no sandbox to try it in.
        """
        if instance.makes_the_bug or instance.base_commit is None or not instance.test_patch:
            return None
        url = clone_url(instance.repo, self._repos)
        try:
            mirror = self._mirrors.of(RepoSource(url=url, commit=instance.base_commit))
            on = find_commit(mirror, instance.base_commit).date.date()
            return self._tried(instance, mirror, on)
        except (GitCloneError, PatchDoesNotApplyError) as error:
            raise UnknownSurroundingsError(f"its set-up cannot be tried: {error}") from None
        except InputError as error:
            said = "; ".join(error.faults)
            raise UnknownSurroundingsError(f"no set-up that was tried holds: {said}") from None

    def _tried(self, instance: Instance, mirror: Mirror, on: date) -> Surroundings:
        hidden = overlay_of((instance.test_patch or "").encode(), mirror).files
        solution = overlay_of(instance.patch.encode(), mirror).files
        with owned_folder("agentbench-base-") as scratch:
            before, after = scratch / "repo", scratch / "fixed"
            for folder in (before, after):
                write_files_of(mirror, mirror.commit, folder)
            _write({**solution, **hidden}, after)
            found = self._environments.of(
                Change(before=before, after=after, tests=_tests_of(hidden), on=on)
            )
        return Surroundings(
            environment=found.environment, setup=found.setup, command=found.tests.command
        )


def _tests_of(hidden: Mapping[PurePosixPath, PatchedFile | None]) -> tuple[PurePosixPath, ...]:
    return tuple(
        path
        for path, file in hidden.items()
        if file is not None and path.suffix == ".py" and bears_tests(file.content)
    )


def _write(files: Mapping[PurePosixPath, PatchedFile | None], folder: Path) -> None:
    for path, file in files.items():
        place = folder / path
        if file is None:
            place.unlink(missing_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.content)
        place.chmod(0o755 if file.executable else 0o644)
