"""Finds the environment of an instance without a recipe and an image by trying."""

from datetime import date
from pathlib import Path

from agentbench.core.files import owned_folder
from agentbench.errors import GitCloneError, InputError
from agentbench.importers.swebench.environments import InstanceEnvironment, UnknownEnvironmentError
from agentbench.importers.swebench.importing import clone_url
from agentbench.importers.swebench.instance import SwebenchInstance
from agentbench.importers.task_folders import write_files
from agentbench.tasks import git_trees
from agentbench.tasks.fix_commit import has_tests
from agentbench.tasks.git_history import find_commit
from agentbench.tasks.mirror import Mirror, Mirrors
from agentbench.tasks.task import RepoSource
from agentbench.validation.environment.trials import EnvironmentFinder, RepositoryChange


class InstanceEnvironmentFinder:
    """Tries environments, once for all instances of a repository with equal declarations."""

    def __init__(
        self, environments: EnvironmentFinder, mirrors: Mirrors, *, repos: Path | None
    ) -> None:
        self._environments = environments
        self._mirrors = mirrors
        self._repos = repos

    def detect(self, instance: SwebenchInstance) -> InstanceEnvironment | None:
        """The environment of an instance; None if it is of a kind that cannot be tried.

        Raises:
            UnknownEnvironmentError: no proposal works, or none can be tried.
        """
        if instance.makes_the_bug or instance.base_commit is None or not instance.test_patch:
            return None
        url = clone_url(instance.repo, self._repos)
        try:
            mirror = self._mirrors.of(RepoSource(url=url, commit=instance.base_commit))
            on = find_commit(mirror, instance.base_commit).date.date()
            return self._tried(instance, mirror, on)
        except (GitCloneError, git_trees.PatchDoesNotApplyError) as error:
            raise UnknownEnvironmentError(f"its set-up cannot be tried: {error}") from None
        except InputError as error:
            text = "; ".join(error.faults)
            raise UnknownEnvironmentError(f"no set-up that was tried holds: {text}") from None

    def _tried(self, instance: SwebenchInstance, mirror: Mirror, on: date) -> InstanceEnvironment:
        hidden = git_trees.apply_patch_to_commit((instance.test_patch or "").encode(), mirror).files
        solution = git_trees.apply_patch_to_commit(instance.patch.encode(), mirror).files
        with owned_folder("agentbench-base-") as scratch:
            before, after = scratch / "repo", scratch / "fixed"
            for folder in (before, after):
                git_trees.write_commit_files(mirror, mirror.commit, folder)
            write_files(after, {**solution, **hidden})
            tests = tuple(
                path
                for path, file in hidden.items()
                if file is not None and path.suffix == ".py" and has_tests(file.content)
            )
            change = RepositoryChange(before=before, after=after, tests=tests, on=on)
            found = self._environments.of(change)
        return InstanceEnvironment(
            environment=found.environment, setup=found.setup, command=found.tests.command
        )
