"""The harness that cheats are written for: pytest in the agent's own sandbox, its exit code.

A cheat that does not fool this one is no proof that another one is any better.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from pathlib import PurePosixPath

from agentbench.core.files import FileContent
from agentbench.sandbox.archives import tar_of_files
from agentbench.sandbox.interface import Command, Limits, Sandbox, SandboxProvider
from agentbench.scoring.evidence import CommandResult
from tests.corpora.cheats.cheat import Cheat
from tests.e2e.small_task import SmallTask

_LONGEST = timedelta(seconds=100)
_COMMITTED = (
    "git init -q -b main && git config user.name me && git config user.email me@example.org "
    "&& git add -A && git commit -qm Base"
)
# In one command: what the agent left running goes on. The hidden tests come on stdin.
_JUDGED = """
exec 3<&0
( eval "$LEAVES" ) </dev/null
( set -e; eval "$AGENT" ) </dev/null 3<&- || echo "the agent exited $?"
git apply <&3
exec sh -lc 'exec python -m pytest -q -p no:cacheprovider'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NaiveHarness:
    """Judges in bubblewrap, by an exit code."""

    provider: SandboxProvider
    network: bool = False

    def judge(self, cheat: Cheat) -> CommandResult:
        """What pytest came to where the agent had been."""
        with self._opened(cheat.task) as sandbox:
            return sandbox.run(
                Command(
                    argv=("sh", "-c", _JUDGED),
                    env={"AGENT": cheat.line, "LEAVES": cheat.leaves},
                    stdin=cheat.task.tests_patch.encode(),
                    timeout=_LONGEST,
                )
            )

    @contextmanager
    def _opened(self, task: SmallTask) -> Iterator[Sandbox]:
        key = f"naive-{sha256(repr(sorted(task.files.items())).encode()).hexdigest()[:12]}"
        snapshot = self.provider.find(key)
        if snapshot is None:
            image = self.provider.resolve_image(None)
            with self.provider.open(image, limits=Limits(), network=False) as sandbox:
                sandbox.write_tree(sandbox.workspace, _tar_of(task))
                result = sandbox.run(Command(argv=("sh", "-c", _COMMITTED), timeout=_LONGEST))
                assert result.ok, result.stderr
                snapshot = sandbox.snapshot(key)
        with self.provider.open(snapshot, limits=Limits(), network=self.network) as sandbox:
            yield sandbox


def _tar_of(task: SmallTask) -> bytes:
    return tar_of_files(
        {
            PurePosixPath(name): FileContent(content=text.encode(), executable=False)
            for name, text in task.files.items()
        }
    )
