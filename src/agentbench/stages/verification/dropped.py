"""What of an agent's change was not judged, as it is recorded."""

from agentbench.schema import Schema


class Dropped(Schema):
    """A path of the change that was not judged, and why."""

    path: str
    why: str
