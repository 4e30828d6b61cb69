"""Data sets of Harbor's registry, for `agentbench run -d NAME@VERSION`."""

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from pydantic import ConfigDict, TypeAdapter, ValidationError

from agentbench.cli.tasks import validation as validating
from agentbench.cli.tasks.sets import FetchedSet, KnownSet, SetRequest
from agentbench.core import host
from agentbench.core.display_text import counted, list_with_more
from agentbench.core.files import owned_folder
from agentbench.core.schema import Schema
from agentbench.errors import GitCloneError, InputError, UnavailableError
from agentbench.extensions.harbor.command import format_with_images
from agentbench.importers.local_clones import find_local_clone
from agentbench.importers.task_folders import ImportResult, import_folders
from agentbench.importers.task_images import refuse_without_images
from agentbench.tasks import git_history
from agentbench.tasks.dataset_rows import Rejection, task_id_of
from agentbench.tasks.loading import PROOF_FILE
from agentbench.tasks.mirror import Mirror, Mirrors
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task import RepoSource
from agentbench.validation.task_validation import validate_folders

REGISTRY_VARIABLE: Final = "AGENTBENCH_HARBOR_REGISTRY"
_REGISTRY = "https://raw.githubusercontent.com/laude-institute/harbor/main/registry.json"
_NAME = re.compile(r"[\w][\w.-]*@[\w][\w.-]*")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SECONDS = 30.0
_MAX_NAMED = 5


class _RegistryTask(Schema):
    model_config = ConfigDict(extra="ignore")

    name: str
    git_url: str
    git_commit_id: str | None = None
    path: str


class _RegistryDataset(Schema):
    model_config = ConfigDict(extra="ignore")

    name: str
    version: str
    tasks: tuple[_RegistryTask, ...]


class HarborSets:
    """The data sets of a registry in Harbor's JSON format."""

    known: Sequence[KnownSet] = (
        KnownSet(
            name="terminal-bench@2.0",
            alias="terminal-bench",
            source="terminal-bench@2.0",
            tasks=89,
            needs="Docker; its tasks' repository on GitHub, and an image for each task",
        ),
    )

    def has_form(self, name: str) -> bool:
        return bool(_NAME.fullmatch(name))

    def fetch(self, request: SetRequest) -> FetchedSet:
        tasks = {task_id_of(each.name): each for each in _find_dataset(request.source).tasks}
        selected = request.select(list(tasks))
        new = [each for each in selected if not (request.out / each / PROOF_FILE).is_file()]
        mirrors = Mirrors(host.usable_cache_dir() / "mirrors")
        sources = {each: _source_of(tasks[each], request.repos) for each in new}
        request.say(
            f"{request.source}: {len(selected)} of {counted(len(tasks), 'task')} selected, "
            f"{len(selected) - len(new)} imported before, {len(new)} to import"
        )
        if new:
            repositories = sorted({str(each.url) for each in sources.values()})
            request.say(
                f"repositories: {len(repositories)} to read: "
                f"{list_with_more(repositories, _MAX_NAMED)}"
            )
            request.say("images: one for each new task, to build or pull; sizes and time unknown")
            request.say(f"time: {2 * request.validation.repeat} attempts validate each new task")
        imported = ImportResult()
        for task_id in new:
            try:
                with _task_folder(sources[task_id], tasks[task_id], mirrors) as folder:
                    form = format_with_images(request.validation)
                    one = import_folders(form, [folder], request.out, replace=True)
            except GitCloneError as error:
                fault = Rejection(where=request.source, instance=task_id, what=str(error))
                one = ImportResult(rejections=[fault])
            imported.written += one.written
            imported.rejections += one.rejections
            for note in one.notes:
                request.say(f"note: {note}")
        before = [request.out / each for each in selected if each not in sources]
        settings = validating.validation_settings(request.validation, resume=True)
        imported.rejections += refuse_without_images(imported.written, settings.options)
        folders = before + [each for each in imported.written if each.is_dir()]
        proven = validate_folders(
            folders, settings, validating.follow_validation(request.validation)
        )
        return FetchedSet(
            valid=[each.folder for each in proven if each.is_valid],
            invalid=[
                (each.task_id, "; ".join(each.reasons)) for each in proven if not each.is_valid
            ],
            refused=imported.rejections,
        )


def _find_dataset(source: str) -> _RegistryDataset:
    """The data set `NAME@VERSION` of the registry.

    Raises:
        InputError: the registry has no such data set, or is not in Harbor's format.
        UnavailableError: it cannot be read.
    """
    where = os.environ.get(REGISTRY_VARIABLE) or _REGISTRY
    try:
        if urlsplit(where).scheme in {"http", "https"}:
            with urlopen(where, timeout=_SECONDS) as answer:
                text = answer.read()
        else:
            text = Path(where).read_bytes()
        entries = json.loads(text)
        datasets = TypeAdapter(list[_RegistryDataset]).validate_python(entries)
    # A refused connection is a URLError, and a broken one an OSError.
    except (URLError, OSError) as error:
        raise UnavailableError(
            f"{source}: Harbor's registry cannot be read from {where} ({error}); set "
            f"{REGISTRY_VARIABLE} to another URL or a file"
        ) from None
    except (ValueError, ValidationError):
        raise InputError(
            f"{where}: expected Harbor's registry, a JSON list of data sets with name, version "
            "and tasks; found something else"
        ) from None
    name, _, version = source.partition("@")
    versions = {each.version: each for each in datasets if each.name == name}
    if version in versions:
        return versions[version]
    if versions:
        raise InputError(
            f"{source}: Harbor's registry has no such version; its versions: {', '.join(versions)}"
        )
    near = get_close_matches(name, {each.name for each in datasets}, n=2, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise InputError(f"{source}: Harbor's registry has no data set {name!r}{hint}")


def _source_of(task: _RegistryTask, repos: Path | None) -> RepoSource:
    """The repository of a task: a local clone if there is one."""
    owner, _, name = urlsplit(task.git_url).path.strip("/").rpartition("/")
    repo = f"{owner.rpartition('/')[2]}/{name.removesuffix('.git')}"
    url = find_local_clone(repo, repos) or task.git_url
    return RepoSource(url=url, commit=task.git_commit_id)


@contextmanager
def _task_folder(source: RepoSource, task: _RegistryTask, mirrors: Mirrors) -> Iterator[Path]:
    """The folder of a task at its commit, until the block ends.

    Raises:
        GitCloneError: the repository cannot be read, or it has no such commit or folder.
        InputError: there is no such branch.
    """
    assert source.url is not None
    mirror: Mirror
    if source.commit is not None and _COMMIT.fullmatch(source.commit):
        mirror = mirrors.of(source)
    else:
        mirror = git_history.mirror_of_head(source.url, mirrors)
    path = PurePosixPath(task.path)
    if not mirror.has_commit or path.is_absolute() or ".." in path.parts:
        raise GitCloneError(f"{source.url}: has no {task.path!r} at commit {source.commit}")
    with owned_folder("agentbench-harbor-") as scratch:
        folder = scratch / TaskId(task_id_of(task.name))
        try:
            git_history.write_commit_files(mirror, f"{mirror.commit}:{path}", folder)
        except InputError as error:
            raise GitCloneError(f"{source.url}: {error}") from None
        yield folder
