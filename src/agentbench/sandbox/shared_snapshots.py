"""What a provider can do whose snapshots other machines may have, by way of a registry."""

from typing import Protocol, runtime_checkable

from agentbench.sandbox.interface import SnapshotId


@runtime_checkable
class SharesSnapshots(Protocol):
    """A provider that pushes snapshots to an image registry and pulls them from there."""

    def push(self, snapshot: SnapshotId, name: str, note: bytes) -> None:
        """Put a snapshot into a registry.

        Args:
            snapshot: One of this machine's.
            name: As `registry.example:5000/team/snapshot:key`; what bears it is replaced.
            note: Goes with it; some ten thousand bytes at most.

        Raises:
            SandboxError: the registry does not take it or does not answer, or the engine is lost.
        """

    def pull(self, name: str, key: str) -> bytes | None:
        """Have the snapshot of a name under a key of this machine.

        Returns:
            The note that came with it; `None` where the registry has no snapshot of that name.

        Raises:
            SandboxError: the registry does not answer or refuses, or the engine is lost.
        """
