"""At the start of a run, what killed runs left behind is removed; what lives is never touched."""

from collections import Counter
from pathlib import Path

from agentbench.agents.toolbox.toolboxes import remove_unfinished, toolboxes_in
from agentbench.errors import SandboxError
from agentbench.sandbox.interface import SandboxProvider
from agentbench.sandbox.leftovers import find_dead, remove_leftovers
from agentbench.sandbox.snapshot_store import sweep_all
from agentbench.stages.preparation import PreparationCache


def remove_what_dead_runs_left(cache_dir: Path, provider: SandboxProvider) -> str | None:
    """Remove leftovers whose owners are dead; a sentence about it, if there were any.

    Some 10 ms where there is nothing. An engine that is lost keeps what it has until it is back.

    Args:
        cache_dir: Where mirrors, preparations and snapshots are kept.
        provider: The one that the run will use; the engine is asked only if it is a container's.
    """
    removed = Counter(each.kind for each in remove_leftovers(find_dead(cache_dir)))
    removed["unfinished snapshot"] += sweep_all(cache_dir)
    removed["unfinished toolbox"] += remove_unfinished(toolboxes_in(cache_dir))
    try:
        removed["snapshot"] += PreparationCache(cache_dir / "prepared", provider).forget_dead()
        removed += _in_engine(provider)
    except SandboxError:
        pass
    return _sentence(removed)


def _in_engine(provider: SandboxProvider) -> Counter[str]:
    if provider.name != "docker":
        return Counter()
    from agentbench.sandbox.docker import DockerProvider
    from agentbench.sandbox.reaper import remove_dead

    if not isinstance(provider, DockerProvider):
        return Counter()
    return Counter(each.kind for each in remove_dead(provider.engine))


def _sentence(removed: Counter[str]) -> str | None:
    counted = [_counted(number, kind) for kind, number in removed.items() if number]
    return f"removed what a killed run left: {', '.join(counted)}" if counted else None


def _counted(number: int, kind: str) -> str:
    if number == 1:
        return f"1 {kind}"
    return f"{number} {kind}es" if kind.endswith("x") else f"{number} {kind}s"
