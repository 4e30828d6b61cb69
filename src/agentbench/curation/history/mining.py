"""A repository's history, looked through for fixes that make good tasks."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from agentbench.curation.gate import GateSettings, Proven, prove_folders
from agentbench.curation.history.ledger import Entry, Fate, Ledger
from agentbench.curation.history.making import Origin, Place, make_task
from agentbench.curation.proving import Follow
from agentbench.errors import InputError
from agentbench.owned_folder import owned_folder
from agentbench.tasks.history.commit import Commit, walk
from agentbench.tasks.history.fix import Fix, read_fix
from agentbench.tasks.mirror import Mirror

_BATCH = 8  # candidates that are proven together: what an interruption costs
_CANDIDATES = ".candidates"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mine:
    """Where to look, and what to make of what is found."""

    origin: Origin
    out: Path
    gate: GateSettings
    tests: tuple[str, ...] = ()
    """Globs that say which files are tests; none: what is usual."""
    since: str | None = None
    until: str | None = None
    limit: int | None = None
    """Commits that are tried at most; None: all that are worth it."""
    whole_suite: bool = True
    say: Callable[[str], None] = field(default=lambda _line: None)


def mine(told: Mine, head: Mirror, follow: Follow) -> list[Entry]:
    """Look through the history behind a mirror's HEAD, newest first; gives what became of each.

    Good tasks are moved into the folder as their proofs are done, and what became of a commit is
    written down there at once: what is interrupted goes on where it was.

    Raises:
        InputError: the history cannot be read, or what was written down earlier is damaged.
        UnavailableError: there is no sandbox to prove tasks in.
        OSError: the folder cannot be written.
    """
    return _Miner(told, head, follow).run()


class _Miner:
    def __init__(self, told: Mine, head: Mirror, follow: Follow) -> None:
        self._told = told
        self._head = head
        self._follow = follow
        self._ledger = Ledger(told.out)
        self._seen: list[str] = []

    def run(self) -> list[Entry]:
        fixes = islice(self._fixes(), self._told.limit)
        while batch := list(islice(fixes, _BATCH)):
            self._prove(batch)
        return [self._ledger.entries[commit] for commit in self._seen]

    def _fixes(self) -> Iterator[Fix]:
        """What is worth a try; what is not is written down."""
        for commit in walk(self._head, since=self._told.since, until=self._told.until):
            self._seen.append(commit.hash)
            if self._ledger.is_settled(commit.hash):
                continue
            found = read_fix(self._head, commit, tests=self._told.tests)
            if isinstance(found, Fix):
                yield found
            else:
                self._note(commit, Fate.REJECTED, [found], candidate=False)

    def _prove(self, fixes: Sequence[Fix]) -> None:
        with owned_folder(_CANDIDATES, self._told.out) as place:
            made = {}
            for fix in fixes:
                try:
                    made[self._made(fix, place)] = fix
                except InputError as error:
                    self._note(fix.commit, Fate.REJECTED, error.faults)
            for proven in prove_folders(tuple(made), self._told.gate, self._follow):
                self._settle(made[proven.folder], proven)

    def _made(self, fix: Fix, place: Path) -> Path:
        told = self._told
        return make_task(fix, told.origin, Place(parent=place), whole_suite=told.whole_suite)

    def _settle(self, fix: Fix, proven: Proven) -> None:
        if proven.good:
            kept = self._told.out / proven.task_id
            proven.folder.rename(kept)
            self._note(fix.commit, Fate.KEPT, (), task=proven.task_id)
        else:
            fate = Fate.UNDECIDED if proven.undecided else Fate.REJECTED
            self._note(fix.commit, fate, proven.reasons)

    def _note(
        self,
        commit: Commit,
        fate: Fate,
        reasons: Sequence[str],
        *,
        candidate: bool = True,
        task: str | None = None,
    ) -> None:
        entry = Entry(
            commit=commit.hash,
            subject=commit.subject,
            fate=fate,
            reasons=tuple(reasons),
            candidate=candidate,
            task=task,
        )
        self._ledger.add(entry)
        if candidate:
            said = f": {'; '.join(reasons)}" if reasons else ""
            self._told.say(f"{commit.hash[:12]} {fate.value}{said}")
