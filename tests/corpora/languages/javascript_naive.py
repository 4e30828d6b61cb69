"""The harness that cheats are written for: the tool in the agent's own sandbox, its exit code."""

from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from pathlib import PurePosixPath

from agentbench.core.files import FileContent
from agentbench.sandbox.archives import tar_of_files
from agentbench.sandbox.interface import Command, Limits, SandboxProvider, SnapshotId
from agentbench.scoring.evidence import CommandResult
from tests.corpora.languages.javascript_task import JavaScriptAgent, JavaScriptTask

_LIMITS = Limits(memory_mib=2048, pids=256)
_LONGEST = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class NaiveHarness:
    """Judges in bubblewrap, by an exit code."""

    provider: SandboxProvider

    def judge(self, agent: JavaScriptAgent) -> CommandResult:
        """What the tool came to where the agent had been."""
        task = agent.task
        with self.provider.open(self._installed(task), limits=_LIMITS, network=False) as sandbox:
            changed = sandbox.run(Command(argv=("sh", "-c", agent.line), timeout=_LONGEST))
            assert changed.ok, changed.stderr
            sandbox.write_tree(sandbox.workspace, _tar_of({task.test: task.hidden}))
            return sandbox.run(
                Command(argv=("sh", "-c", task.command), env={"CI": "true"}, timeout=_LONGEST)
            )

    def _installed(self, task: JavaScriptTask) -> SnapshotId:
        files = sorted(task.files.items())
        key = f"naive-{sha256(repr((task.install, files)).encode()).hexdigest()[:12]}"
        snapshot = self.provider.find(key)
        if snapshot is None:
            image = self.provider.resolve_image(None)
            with self.provider.open(image, limits=_LIMITS, network=True) as sandbox:
                sandbox.write_tree(sandbox.workspace, _tar_of(dict(task.files)))
                done = sandbox.run(Command(argv=("sh", "-c", task.install), timeout=_LONGEST))
                assert done.ok, done.stderr
                snapshot = sandbox.snapshot(key)
        return snapshot


def _tar_of(files: dict[str, str]) -> bytes:
    return tar_of_files(
        {
            PurePosixPath(name): FileContent(content=text.encode(), executable=False)
            for name, text in files.items()
        }
    )
