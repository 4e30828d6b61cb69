"""Which folder of an image may be a workspace."""

from pathlib import PurePosixPath

_SYSTEM = frozenset(
    {"/", "/bin", "/boot", "/etc", "/home", "/lib", "/lib64", "/opt", "/sbin", "/srv", "/usr",
     "/var"}
)  # fmt: skip
_NOT_ITS_OWN = frozenset(
    {"/agentbench", "/dev", "/logs", "/proc", "/results", "/run", "/solution", "/sys", "/tests",
     "/tmp"}
)  # fmt: skip


def checked_workdir(path: str) -> str:
    """The path of a folder that belongs to a task, in its usual spelling.

    Raises:
        ValueError: it is none; says what it is instead.
    """
    place = PurePosixPath(path)
    if not place.is_absolute() or ".." in place.parts or not path.isprintable():
        raise ValueError("is no absolute path of a folder in the image")
    if str(place) in _SYSTEM or str(PurePosixPath(*place.parts[:2])) in _NOT_ITS_OWN:
        raise ValueError("is a folder of the system or of agentbench; give one of the task's own")
    return str(place)
