"""A file as a patch or an agent left it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchedFile:
    """What a file became."""

    content: bytes
    executable: bool
