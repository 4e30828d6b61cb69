"""A difference counts where it is seen again, each tree alone in a fresh sandbox."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from pydantic import ValidationError

from agentbench.audit.wrong_fixes.bench import complaint, written
from agentbench.audit.wrong_fixes.contrast import Left
from agentbench.audit.wrong_fixes.search import Subject, Told
from agentbench.audit.wrong_fixes.trees import Tree
from agentbench.sandbox.interface import Sandbox
from agentbench.scoring.evidence import CommandResult
from agentbench.symbolic.comparison import Difference, Replay, Replayed

_PROGRAM = "agentbench_replay.py"
_SECONDS = 60.0  # for one program
_TIMES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What a program did in the three trees."""

    base: Replayed
    reference: Replayed
    agents: Replayed


def confirmed(
    subject: Subject, found: Sequence[tuple[str, Difference]]
) -> tuple[tuple[Told, ...], tuple[Left, ...]]:
    """What was seen again, and what was not, with the reason.

    Raises:
        SandboxError: a sandbox is lost.
    """
    if not found:
        return (), ()
    programs = [difference.program for _, difference in found]
    trees = subject.trees
    base, reference, agents = (
        _replayed(subject, tree, programs) for tree in (trees.base, trees.reference, trees.agents)
    )
    told: list[Told] = []
    doubtful: list[Left] = []
    for at, (where, difference) in enumerate(found):
        seen = _Seen(base=base[at], reference=reference[at], agents=agents[at])
        why = _doubt(seen)
        if why:
            doubtful.append(Left(where, f"a difference on {difference.call} {why}"))
        else:
            told.append(Told(where=where, what=_words(difference.call, seen)))
    return tuple(told), tuple(doubtful)


def _replayed(subject: Subject, tree: Tree, programs: Sequence[tuple[str, ...]]) -> list[Replayed]:
    with subject.bench.opened() as sandbox:
        written(sandbox, sandbox.workspace, tree)
        return [_replay(subject, sandbox, program) for program in programs]


def _replay(subject: Subject, sandbox: Sandbox, program: tuple[str, ...]) -> Replayed:
    roots = {module.root for module in subject.contrast.modules.values()}
    replay = Replay(paths=_paths(sandbox.workspace, roots), program=program, times=_TIMES)
    result = subject.bench.ask(sandbox, _PROGRAM, replay.model_dump_json(), seconds=_SECONDS)
    return _read(result)


def _paths(workspace: PurePosixPath, roots: set[PurePosixPath]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(workspace / root) for root in [*sorted(roots), PurePosixPath()]))


def _read(result: CommandResult) -> Replayed:
    try:
        return Replayed.model_validate_json(result.stdout)
    except ValidationError:
        return Replayed(outcomes=(), values=(), why=complaint(result))


def _doubt(seen: _Seen) -> str:
    """Why a difference does not count; empty where it does."""
    for name, replayed in (("reference", seen.reference), ("agent's code", seen.agents)):
        if replayed.why or not replayed.values:
            return f"was not seen again: with the {name}, {replayed.why or 'nothing was said'}"
        if len(set(replayed.values)) > 1:
            return f"is none that counts: the {name} does not do the same each time"
    if seen.reference.values[0] == seen.agents.values[0]:
        return "was not seen again, each tree in a sandbox of its own"
    return ""


def _words(call: str, seen: _Seen) -> str:
    reference, agents = seen.reference.outcomes[0], seen.agents.outcomes[0]
    base = " / ".join(dict.fromkeys(seen.base.outcomes)) or f"cannot tell: {seen.base.why}"
    return (
        f"differs from the reference on {call}: {agents}; the reference {reference} (base: {base})"
    )
