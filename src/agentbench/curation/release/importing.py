"""Many pairs of releases, made tasks and proven; the good ones are kept."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentbench.curation.gate import GateSettings, Proven, prove_folders
from agentbench.curation.history.ledger import Fate
from agentbench.curation.proving import Follow
from agentbench.curation.release.index import PackageIndex, ReleasePair
from agentbench.curation.release.ledger import ReleaseEntry, add_entry
from agentbench.curation.release.making import make_task, task_id_of
from agentbench.errors import InputError, UnavailableError, UsageError
from agentbench.owned_folder import owned_folder
from agentbench.runs.parts import chosen_sandbox
from agentbench.tasks.importers.sdist.wanted import WantedPair

_BATCH = 4  # tasks that are proven together: what an interruption costs
_CANDIDATES = ".candidates"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseImport:
    """Where tasks are made, and how they are proven."""

    index: PackageIndex
    out: Path
    gate: GateSettings | None
    """None: they are written as they are, without running anything."""
    replace: bool = False
    say: Callable[[str], None] = field(default=lambda _line: None)


def import_releases(
    wanted: Sequence[WantedPair], told: ReleaseImport, follow: Follow
) -> list[ReleaseEntry]:
    """Make a task of each pair of releases; gives what became of each, in their order.

    What became of a pair is written down in the folder at once.

    Raises:
        UnavailableError: there is no sandbox to prove tasks in.
        UsageError: the folder cannot be written.
    """
    if told.gate is not None:
        chosen_sandbox(told.gate.options)
    try:
        told.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{told.out}: cannot be written: {error.strerror}") from error
    importer = _Importer(told, follow)
    for at in range(0, len(wanted), _BATCH):
        importer.take(wanted[at : at + _BATCH])
    return [importer.entries[pair] for pair in wanted]


class _Importer:
    def __init__(self, told: ReleaseImport, follow: Follow) -> None:
        self._told = told
        self._follow = follow
        self.entries: dict[WantedPair, ReleaseEntry] = {}

    def take(self, batch: Sequence[WantedPair]) -> None:
        """Make and prove the tasks of some pairs."""
        with owned_folder(_CANDIDATES, self._told.out) as place:
            made: dict[Path, tuple[WantedPair, ReleasePair]] = {}
            for wanted in batch:
                self._told.say(f"{wanted}: downloading, unpacking, comparing")
                self._make(wanted, place, made)
            if self._told.gate is None:
                for folder, (wanted, pair) in made.items():
                    self._keep(wanted, pair, folder, fail_to_pass=0)
            elif made:
                for proven in prove_folders(tuple(made), self._told.gate, self._follow):
                    self._settle(*made[proven.folder], proven)

    def _make(
        self, wanted: WantedPair, place: Path, made: dict[Path, tuple[WantedPair, ReleasePair]]
    ) -> None:
        told, pair = self._told, None
        try:
            pair = told.index.pair(wanted)
            self._refuse_present(pair)
            options = told.gate.options if told.gate is not None else None
            made[make_task(pair, told.index, place, options)] = (wanted, pair)
        except InputError as error:
            self._note(wanted, _entry(wanted, pair, Fate.REJECTED, error.faults))
        except UnavailableError as error:
            self._note(wanted, _entry(wanted, pair, Fate.UNDECIDED, (str(error),)))

    def _refuse_present(self, pair: ReleasePair) -> None:
        place = self._told.out / task_id_of(pair)
        if os.path.lexists(place) and not self._told.replace:
            raise InputError(f"{place}: is there already; give another --out, or --replace")

    def _settle(self, wanted: WantedPair, pair: ReleasePair, proven: Proven) -> None:
        if proven.good:
            fixed = proven.proof.to_control if proven.proof is not None else 0
            self._keep(wanted, pair, proven.folder, fail_to_pass=fixed)
            return
        fate = Fate.UNDECIDED if proven.undecided else Fate.REJECTED
        entry = _entry(wanted, pair, fate, proven.reasons)
        self._note(wanted, entry.model_copy(update={"run": True}))

    def _keep(
        self, wanted: WantedPair, pair: ReleasePair, folder: Path, *, fail_to_pass: int
    ) -> None:
        kept = self._told.out / folder.name
        if os.path.lexists(kept):
            shutil.rmtree(kept)
        folder.rename(kept)
        entry = _entry(wanted, pair, Fate.KEPT, ())
        found = {"task": str(kept), "fail_to_pass": fail_to_pass, "run": True}
        self._note(wanted, entry.model_copy(update=found))

    def _note(self, wanted: WantedPair, entry: ReleaseEntry) -> None:
        self.entries[wanted] = entry
        add_entry(self._told.out, entry)
        said = f": {'; '.join(entry.reasons)}" if entry.reasons else ""
        self._told.say(f"{entry.pair}: {entry.fate.value}{said}")


def _entry(
    wanted: WantedPair, pair: ReleasePair | None, fate: Fate, reasons: Sequence[str]
) -> ReleaseEntry:
    old = pair.old.version if pair is not None else wanted.old
    new = pair.new.version if pair is not None else wanted.new
    return ReleaseEntry(
        package=wanted.package,
        old=str(old) if old is not None else None,
        new=str(new) if new is not None else None,
        fate=fate,
        reasons=tuple(reasons),
    )
