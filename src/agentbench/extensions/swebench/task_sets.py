"""SWE-bench's sets and others in its form, for `agentbench run -d`."""

import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from agentbench.cli.tasks.sets import FetchedSet, KnownSet, SetRequest
from agentbench.core.display_text import counted, list_with_more
from agentbench.errors import UnavailableError
from agentbench.extensions.swebench import hub
from agentbench.extensions.swebench.command import (
    HubOptions,
    InstanceOptions,
    import_rows,
    rows_of,
)
from agentbench.extensions.swebench.environments import (
    DOCKERFILE,
    UnknownEnvironmentError,
    environment_of,
)
from agentbench.extensions.swebench.import_state import ImportStates
from agentbench.extensions.swebench.importing import (
    ImportSelection,
    RowSource,
    clone_url,
    is_local,
    row_key,
    selected_rows,
)
from agentbench.extensions.swebench.instance import SwebenchInstance, parse_instance
from agentbench.importers.task_images import TaskImages
from agentbench.sandbox.docker.images import BASE_IMAGE_COST
from agentbench.sandbox.python_stacks import (
    DEFAULT_PYTHON,
    base_image_name,
    python_of_base_image,
)
from agentbench.tasks.dataset_rows import ROW_SUFFIXES, DatasetRow
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task import RepoSource
from agentbench.validation.stored_proof import read_proof

_MAX_NAMED = 5  # repositories or images in a line
_TWELVE = "12 Python projects on GitHub; SWE-bench's images, or else base images and PyPI"
_FROM = re.compile(r"FROM (\S+)")
_GB = 10**9


class SwebenchSets:
    """Data sets of the Hugging Face Hub, and files of rows."""

    known: Sequence[KnownSet] = (
        KnownSet(
            name="swe-bench-verified",
            alias="verified",
            source="SWE-bench/SWE-bench_Verified",
            tasks=500,
            needs=_TWELVE,
        ),
        KnownSet(
            name="swe-bench-lite",
            alias="lite",
            source="SWE-bench/SWE-bench_Lite",
            tasks=300,
            needs=_TWELVE,
        ),
        KnownSet(
            name="swe-bench-multilingual",
            alias="multilingual",
            source="SWE-bench/SWE-bench_Multilingual",
            tasks=300,
            needs="41 projects on GitHub; recipes for 14 of them, in five languages",
        ),
        KnownSet(
            name="swe-bench",
            alias="full",
            source="SWE-bench/SWE-bench",
            tasks=2294,
            needs=_TWELVE,
        ),
    )

    def has_form(self, name: str) -> bool:
        source = name.partition("@")[0]
        is_file = name.lower().endswith(ROW_SUFFIXES) or Path(name).is_file()
        return is_file or hub.is_dataset_name(source)

    def fetch(self, request: SetRequest) -> FetchedSet:
        quiet = request.validation.quiet
        name, revision = request.source, None
        if not Path(name).exists():
            name, _, revision = name.partition("@")
        rows, dataset = rows_of(name, HubOptions(revision=revision or None), quiet=quiet)
        everything = ImportSelection(out=request.out)
        names = {row.id: row.name for row in selected_rows(rows, everything) if row.name}
        selected = request.select(list(names))
        is_all = len(selected) == len(names)

        def announce(selection: ImportSelection, mirrors: Mirrors, images: TaskImages) -> None:
            cost = _ImportCost.of(rows, selection, mirrors, images)
            imported = len(selected) - len(cost.new) - cost.unsupported
            request.say(
                f"{request.source}: {len(selected)} of {counted(len(names), 'task')} selected, "
                f"{imported} imported before, {len(cost.new)} to import"
            )
            if cost.new:
                for line in cost.lines(request):
                    request.say(line)
            # Before the repositories are cloned, which takes minutes.
            if cost.new and not imported and len(cost.unavailable) == len(cost.new):
                fault = next(iter(cost.unavailable.values()))
                raise UnavailableError(
                    f"no selected task of {request.source} can run here: {fault}"
                )

        results = import_rows(
            rows,
            InstanceOptions(
                repos=request.repos, instance=None if is_all else [names[each] for each in selected]
            ),
            request.validation,
            out=request.out,
            dataset=dataset,
            announce=announce,
        )
        proven = results.proven.values()
        return FetchedSet(
            valid=[each.folder for each in proven if each.is_valid],
            invalid=[
                (each.task_id, "; ".join(each.reasons)) for each in proven if not each.is_valid
            ],
            refused=results.rejections,
        )


@dataclass(slots=True, kw_only=True)
class _ImportCost:
    """What the import of the selected rows needs, as far as it is known before."""

    new: list[TaskId] = field(default_factory=list)
    unsupported: int = 0  # rows that will be refused
    to_clone: set[str] = field(default_factory=set)
    repositories: set[str] = field(default_factory=set)
    images: Counter[str] = field(default_factory=Counter)  # the new tasks of each image
    missing: set[str] = field(default_factory=set)  # images that the engine lacks
    unavailable: dict[TaskId, str] = field(default_factory=dict)  # tasks, and why

    @classmethod
    def of(
        cls, rows: RowSource, selection: ImportSelection, mirrors: Mirrors, images: TaskImages
    ) -> "_ImportCost":
        cost, states = cls(), ImportStates(selection.out)
        has_image = cache(images.has)  # each instance asks again
        has_engine = images.used_bytes is not None
        # No registry is asked: the import does that.
        sources = replace(
            selection.sources,
            image_fault=lambda name: None if has_engine and has_image(name) else "missing",
        )
        for row in selected_rows(rows, selection):
            key = row_key(row, selection)
            if key is None or not isinstance(row.row, DatasetRow):
                cost.unsupported += 1
                continue
            instance = parse_instance(row.row)
            if states.is_done(row.id, key) or not isinstance(instance, SwebenchInstance):
                continue
            try:
                environment = environment_of(instance, sources)
            except UnknownEnvironmentError:
                cost.unsupported += 1
                continue
            cost.new.append(row.id)
            cost._add_repository(instance, selection, mirrors)
            dockerfile = environment.files.get(DOCKERFILE, b"").decode()
            built_on = _FROM.search(dockerfile)
            named = built_on[1] if built_on else environment.environment.image
            image = named or base_image_name(DEFAULT_PYTHON)
            # Other sandboxes have the programs of this machine, and ask no registry.
            if not has_engine and (fault := images.fault(image)) is not None:
                cost.unavailable[row.id] = fault
            if has_engine:
                cost.images[image] += 1
            if not has_image(image):
                cost.missing.add(image)
        return cost

    def _add_repository(
        self, instance: SwebenchInstance, selection: ImportSelection, mirrors: Mirrors
    ) -> None:
        self.repositories.add(instance.repo)
        url, commit = clone_url(instance.repo, selection.repos), instance.base_commit
        if is_local(url) or commit is None:
            return
        if mirrors.find_complete(RepoSource(url=url, commit=commit)) is None:
            self.to_clone.add(instance.repo)

    def lines(self, request: SetRequest) -> Iterator[str]:
        """Repositories, images, time and disk space."""
        clones = list_with_more(sorted(self.to_clone), _MAX_NAMED)
        clones = f"{len(self.to_clone)} to clone or fetch: {clones}" if clones else "none to clone"
        yield f"repositories: {len(self.repositories)}, {clones}"
        names = [
            f"{image} for {counted(count, 'task')} ({self._image_state(image)})"
            for image, count in self.images.most_common()
        ]
        instead = "; the own image of an instance comes first if the engine can pull it"
        yield f"images: {list_with_more(names, _MAX_NAMED) or 'none'}{instead if names else ''}"
        attempts = 2 * request.validation.repeat
        seconds = _seconds_of_attempts(request.out)
        known = f"about {seconds:.0f} s an attempt, as before" if seconds else "not known yet"
        yield f"time: {attempts} attempts validate each new task: {known}"
        free = shutil.disk_usage(_existing(request.out)).free / _GB
        yield f"disk: {free:.1f} GB free in {request.out}"

    def _image_state(self, image: str) -> str:
        if image not in self.missing:
            return "present"
        if python_of_base_image(image) is not None:
            return f"to build: {BASE_IMAGE_COST}"
        return "to pull or build; size unknown"


def _seconds_of_attempts(out: Path) -> float:
    """The mean duration of an attempt at the tasks that were validated before; 0: unknown."""
    proofs = [read_proof(path.parent) for path in out.glob("*/proof.json")]
    seconds = [sum(proof.seconds.values()) for proof in proofs if proof is not None]
    return sum(seconds) / len(seconds) if seconds else 0.0


def _existing(path: Path) -> Path:
    return path if path.exists() else _existing(path.parent)
