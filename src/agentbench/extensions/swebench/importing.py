"""Imports a file of instances as task folders, and rejects unsupported instances."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from agentbench.core.files import owned_folder
from agentbench.errors import GitCloneError, InputError
from agentbench.extensions.swebench import conversion
from agentbench.extensions.swebench.dialects import instance_row
from agentbench.extensions.swebench.environments import (
    EnvironmentSources,
    InstanceEnvironment,
    UnknownEnvironmentError,
    environment_of,
    runner_of,
)
from agentbench.extensions.swebench.import_state import (
    ImportStates,
    ImportStep,
    InstanceState,
    state_key,
)
from agentbench.extensions.swebench.instance import (
    NameKind,
    SwebenchInstance,
    are_node_ids,
    instance_name,
    language_of,
    name_kind,
    parse_instance,
)
from agentbench.extensions.swebench.recipes import find_recipe
from agentbench.importers.local_clones import find_local_clone
from agentbench.importers.task_folders import write_files
from agentbench.tasks import git_history
from agentbench.tasks.dataset_rows import DatasetRow, Rejection, patch_bytes, read_rows, task_id_of
from agentbench.tasks.host_git import git
from agentbench.tasks.loading import TASK_FILE
from agentbench.tasks.mirror import Mirror, Mirrors
from agentbench.tasks.problem import TaskId
from agentbench.tasks.project_versions import scm_version
from agentbench.tasks.task import RepoSource
from agentbench.tasks.task_file import RepoTable
from agentbench.tasks.test_command import parse_test_command
from agentbench.tasks.test_runner_name import PYTHON_RUNNERS, Runner
from agentbench.tasks.writing import write_task
from agentbench.test_runs.runners import runner_of as runner_for
from agentbench.validation.environment.trials import EnvironmentFinder, RepositoryChange
from agentbench.validation.languages import has_tests

_HOST = "https://github.com"
_RELEASE = re.compile(r"\d+(\.\d+)+")
_OTHER_RUNNERS = frozenset({"parse_log_django"})


def clone_url(repo: str, repos: Path | None) -> str:
    """The URL of a repository `owner/name`: a local clone, or else GitHub's."""
    return find_local_clone(repo, repos) or f"{_HOST}/{repo}.git"


def is_local(url: str) -> bool:
    """Whether a repository can be read without a network."""
    return url.startswith("file://")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSelection:
    """The instances to import, and how."""

    out: Path
    replace: bool = False
    instances: frozenset[str] | None = None  # their ids, or patterns of them; None: all
    limit: int | None = None  # the most tasks to write; None: all
    repos: Path | None = None  # the folder of local clones
    sources: EnvironmentSources = field(default_factory=EnvironmentSources)
    dataset: str = ""  # the data set of the Hub with its commit, which tasks remember


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSource:
    """A file or a data set that can be read more than once."""

    name: str
    rows: Callable[[], Iterator[DatasetRow | Rejection]]


def file_source(path: Path) -> RowSource:
    """The rows of a file."""
    return RowSource(name=str(path), rows=lambda: read_rows(path))


@dataclass(slots=True, kw_only=True)
class SwebenchImportResult:
    """The results of importing some rows of a file."""

    written: dict[Path, InstanceState] = field(default_factory=dict)
    without_node_ids: list[Path] = field(default_factory=list)
    """The written tasks with names of tests that a run must still resolve to node ids."""
    rejections: list[Rejection] = field(default_factory=list)
    taken: list[TaskId] = field(default_factory=list)  # all that `limit` counts
    rows: int = 0

    def add(self, folder: Path, instance: SwebenchInstance, state: InstanceState) -> None:
        """Count a written task."""
        self.written[folder] = state
        self.taken.append(TaskId(folder.name))
        is_whole = are_node_ids((*instance.fail_to_pass, *instance.pass_to_pass))
        if not is_whole and state.step is ImportStep.WRITTEN:
            self.without_node_ids.append(folder)


class _RejectedError(Exception):
    def __init__(self, field_name: str, what: str) -> None:
        super().__init__(what)
        self.field = field_name


@contextmanager
def _rejecting(field_name: str, error: type[Exception], *, what: str = "") -> Iterator[None]:
    """Reject the instance because of an error, whose text follows `what`."""
    try:
        yield
    except error as raised:
        raise _RejectedError(field_name, f"{what}{raised}") from None


def import_batches(
    source: RowSource, choice: ImportSelection, mirrors: Mirrors, states: ImportStates, *, size: int
) -> Iterator[SwebenchImportResult]:
    """Write a task's folder for each supported instance, in batches.

    If an earlier import wrote an instance's task from the same row and options, it is not written
    again. If it refused the instance after a run, it is refused again.

    Raises:
        InputError: the file cannot be read.
        UsageError: a folder cannot be written, or the file is of an unknown kind.
        StorageError: the disk is full.
    """
    makers, read_ids, count = _InstanceImporter(choice, mirrors, states), set[str](), 0
    imported = SwebenchImportResult()
    for row in selected_rows(source, choice):
        if choice.limit is not None and count + len(imported.taken) >= choice.limit:
            break
        read_ids.add(row.name)
        _import_row(row, makers, imported)
        imported.rows += 1
        if imported.rows >= size:
            count += len(imported.taken)
            yield imported
            imported = SwebenchImportResult()
    else:
        imported.rejections += [
            Rejection(
                where=source.name, instance=name, what="the data has no instance with this id"
            )
            for name in sorted(choice.instances or ())
            if not any(fnmatchcase(each, name) for each in read_ids)
        ]
    yield imported


def _import_row(
    selected: "SelectedRow", makers: "_InstanceImporter", imported: SwebenchImportResult
) -> None:
    row, key = selected.row, row_key(selected, makers.choice)
    parsed = (row,) if isinstance(row, Rejection) else parse_instance(row)
    if isinstance(parsed, tuple) or key is None:
        imported.rejections += parsed if isinstance(parsed, tuple) else ()
        return
    state = makers.states.find(selected.id)
    if state is not None and state.key == key:
        if state.step is ImportStep.REFUSED:
            imported.taken.append(selected.id)
            imported.rejections.append(state.rejection(row.where))
            return
        if (makers.choice.out / selected.id / TASK_FILE).is_file():
            imported.add(makers.choice.out / selected.id, parsed, state)
            return
    try:
        folder, environment = makers.make(parsed, state)
    except _RejectedError as error:
        facts = {"instance": parsed.instance_id, "field": error.field, "what": str(error)}
        imported.rejections.append(Rejection(where=row.where, **facts))
        return
    state = InstanceState(
        instance_id=parsed.instance_id,
        key=key,
        step=ImportStep.WRITTEN,
        environment=environment.summary,
        replaces=environment.replaces,
    )
    makers.states.save(selected.id, state)
    imported.add(folder, parsed, state)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedRow:
    """A row of a file, with the id of its task."""

    id: TaskId
    name: str  # the instance's own id
    row: DatasetRow | Rejection


def selected_rows(source: RowSource, choice: ImportSelection) -> Iterator[SelectedRow]:
    """The requested instances, each id once.

    Raises:
        InputError: the file cannot be read.
        UsageError: the file is of an unknown kind.
    """
    locations: dict[TaskId, str] = {}
    for each in source.rows():
        row = each
        if isinstance(each, DatasetRow):
            row = replace(each, value=instance_row(each.value))
        name = "" if isinstance(row, Rejection) else instance_name(row.value)
        task_id = task_id_of(name)
        if choice.instances is not None and not any(
            fnmatchcase(name, pattern) for pattern in choice.instances
        ):
            if isinstance(row, Rejection):
                # It may be a requested one.
                yield SelectedRow(id=task_id, name=name, row=row)
            continue
        if name and task_id in locations:
            message = f"{locations[task_id]} already has an instance of this id; each needs its own"
            fault = Rejection(where=row.where, instance=name, field="instance_id", what=message)
            yield SelectedRow(id=task_id, name=name, row=fault)
            continue
        locations[task_id] = row.where
        yield SelectedRow(id=task_id, name=name, row=row)


def row_key(row: SelectedRow, choice: ImportSelection) -> str | None:
    """The key of the values that determine a row's task; None for a row without a task."""
    parsed = parse_instance(row.row) if isinstance(row.row, DatasetRow) else ()
    if isinstance(row.row, Rejection) or isinstance(parsed, tuple):
        return None
    sources = choice.sources
    tables = (sources.own, sources.shipped)
    recipes = [find_recipe(each, parsed.repo, parsed.version) for each in tables]
    return state_key(
        dict(row.row.value),
        [recipe and recipe.model_dump(mode="json") for recipe in recipes],
        [sources.choice, sources.image_template, sources.image_fault is not None],
        [sources.detect is not None, clone_url(parsed.repo, choice.repos)],
    )


@dataclass(frozen=True, slots=True)
class _InstanceImporter:
    choice: ImportSelection
    mirrors: Mirrors
    states: ImportStates

    def make(
        self, instance: SwebenchInstance, state: InstanceState | None
    ) -> tuple[Path, InstanceEnvironment]:
        """Write the folder of an instance; `state` is that of an earlier import."""
        runner = runner_of(instance, self.choice.sources)
        if runner in PYTHON_RUNNERS and (language := language_of(instance)):
            what = f"{language}, and no recipe says how its tests run; give one with --recipes"
            raise _RejectedError("language", what)
        if runner is Runner.PYTEST:
            if instance.log_parser in _OTHER_RUNNERS:
                what = f"{instance.log_parser} does not read logs of pytest"
                raise _RejectedError("log_parser", what)
            for name in instance.fail_to_pass:
                if name_kind(name) in {NameKind.UNITTEST, NameKind.OTHER}:
                    what = "is not a pytest test, and the instance's tests run under pytest"
                    raise _RejectedError("FAIL_TO_PASS", f"{name[:80]!r} {what}")
        task_id = task_id_of(instance.instance_id)
        path = self.choice.out / task_id
        is_ours = state is not None and self.states.is_unchanged(task_id, state)
        if os.path.lexists(path) and not self.choice.replace and not is_ours:
            how = "already exists" if state is None else "was changed since its import"
            message = f"{path} {how}; give another --out, or --replace"
            raise _RejectedError("instance_id", message)
        with _rejecting("repo", UnknownEnvironmentError):
            surroundings = environment_of(instance, self.choice.sources, self._reader(instance))
        try:
            maker = (
                self._reversed_content(instance)
                if instance.makes_the_bug
                else nullcontext(self._plain_content(instance, surroundings))
            )
            with maker as content:
                if content.untagged_version is not None:
                    surroundings = surroundings.with_project_version(content.untagged_version)
                surroundings = surroundings.for_tests(content.test_files)
                new = conversion.convert_instance(
                    instance, surroundings, content, dataset=self.choice.dataset
                )
                replaces = self.choice.replace or state is not None
                return write_task(new, self.choice.out, replace=replaces), surroundings
        except InputError as error:
            raise _RejectedError("", "; ".join(error.faults)) from None

    def _reader(self, instance: SwebenchInstance) -> Callable[[str], str | None]:
        """Reads files of the base commit if the repository is on this machine."""

        def read(path: str) -> str | None:
            url, commit = clone_url(instance.repo, self.choice.repos), instance.base_commit
            if commit is None or not is_local(url):
                return None
            found = self._mirror(url, commit).git("show", f"{commit}:{path}")
            return found.stdout.decode("utf-8", "replace") if found.ok else None

        return read

    def _plain_content(
        self, instance: SwebenchInstance, surroundings: InstanceEnvironment
    ) -> conversion.TaskContent:
        assert instance.test_patch is not None  # parse_instance has checked it
        assert instance.base_commit is not None
        _checked_files("patch", instance.patch)
        test_files = _checked_files("test_patch", instance.test_patch)
        url = clone_url(instance.repo, self.choice.repos)
        version = None
        if is_local(url):
            mirror = self._mirror(url, instance.base_commit)
            if _RELEASE.fullmatch(instance.version) and scm_version(mirror) is None:
                version = instance.version
            for name, patch in (("patch", instance.patch), ("test_patch", instance.test_patch)):
                with _rejecting(name, git_history.PatchDoesNotApplyError):
                    git_history.apply_patch_to_commit(patch_bytes(patch), mirror)
        return conversion.TaskContent(
            repo=RepoTable(url=url, commit=instance.base_commit),
            test_files=_files_of_tests(surroundings, test_files),
            tests_patch=patch_bytes(instance.test_patch),
            solution_patch=patch_bytes(instance.patch),
            untagged_version=version,
        )

    @contextmanager
    def _reversed_content(self, instance: SwebenchInstance) -> Iterator[conversion.TaskContent]:
        _checked_files("patch", instance.patch)
        url = clone_url(instance.repo, self.choice.repos)
        commit = instance.base_commit
        if commit is None:
            answer = git("ls-remote", "--", url, "HEAD", cwd=Path.cwd(), isolated=is_local(url))
            commit = answer.stdout.decode("utf-8", "replace").partition("\t")[0]
            if not answer.ok or not commit:
                raise _RejectedError("repo", f"cannot be cloned: {answer.error_message}")
        mirror = self._mirror(url, commit)
        showing = {name.partition("::")[0] for name in instance.fail_to_pass}
        with (
            _rejecting("patch", git_history.PatchDoesNotApplyError),
            conversion.reverse_bug_patch(patch_bytes(instance.patch), mirror, showing) as content,
        ):
            yield content

    def _mirror(self, url: str, commit: str) -> Mirror:
        with _rejecting("repo", GitCloneError, what="cannot be cloned: "):
            mirror = self.mirrors.of(RepoSource(url=url, commit=commit))
        if not mirror.has_commit:
            raise _RejectedError("base_commit", f"{url} has no commit {commit}")
        return mirror


def _files_of_tests(
    surroundings: InstanceEnvironment, files: Iterable[PurePosixPath]
) -> tuple[str, ...]:
    """The files of the test patch that a runner can run."""
    command = parse_test_command(surroundings.command, surroundings.runner)
    if command.runner in PYTHON_RUNNERS:
        return tuple(str(path) for path in files if path.suffix == ".py")
    runner = runner_for(command)
    return tuple(str(path) for path in files if runner.is_test_file(path))


def _checked_files(name: str, patch: str) -> tuple[PurePosixPath, ...]:
    with _rejecting(name, conversion.UnsupportedPatchError):
        return conversion.patched_files(patch_bytes(patch))


@dataclass(frozen=True, slots=True)
class InstanceEnvironmentFinder:
    """Tries environments, once for all instances of a repository with equal declarations."""

    environments: EnvironmentFinder
    mirrors: Mirrors
    repos: Path | None

    def detect(self, instance: SwebenchInstance) -> InstanceEnvironment | None:
        """The environment of an instance; None if it is of a kind that cannot be tried.

        Raises:
            UnknownEnvironmentError: no proposal works, or none can be tried.
            UnavailableError: no sandbox is available.
        """
        if instance.makes_the_bug or instance.base_commit is None or not instance.test_patch:
            return None
        url = clone_url(instance.repo, self.repos)
        try:
            mirror = self.mirrors.of(RepoSource(url=url, commit=instance.base_commit))
            on = git_history.find_commit(mirror, instance.base_commit).date.date()
            return self._tried(instance, mirror, on)
        except (GitCloneError, git_history.PatchDoesNotApplyError) as error:
            raise UnknownEnvironmentError(f"its set-up cannot be tried: {error}") from None
        except InputError as error:
            text = "; ".join(error.faults)
            raise UnknownEnvironmentError(f"no set-up that was tried works: {text}") from None

    def _tried(self, instance: SwebenchInstance, mirror: Mirror, on: date) -> InstanceEnvironment:
        tests_patch = patch_bytes(instance.test_patch or "")
        hidden = git_history.apply_patch_to_commit(tests_patch, mirror)
        solution = git_history.apply_patch_to_commit(patch_bytes(instance.patch), mirror)
        with owned_folder("agentbench-base-") as scratch:
            before, after = scratch / "repo", scratch / "fixed"
            for folder in (before, after):
                git_history.write_commit_files(mirror, mirror.commit, folder)
            write_files(after, {**solution, **hidden})
            tests = tuple(
                path
                for path, file in hidden.items()
                if file is not None and path.suffix == ".py" and has_tests(path, file.content)
            )
            change = RepositoryChange(before=before, after=after, tests=tests, on=on)
            found = self.environments.of(change)
        return InstanceEnvironment(
            environment=found.environment,
            setup=found.setup,
            command=found.tests.command,
            summary="detected",
        )
