"""What a copy of a state mentions of the place that it was saved at, made to mention its own."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Relocation:
    """Rewrites a path in text, as `copy_tree` wants it; anything with a NUL byte stays."""

    old: str
    new: str

    def __call__(self, content: bytes) -> bytes:
        """The content with every mention of the old path made the new one."""
        old = self.old.encode()
        if old not in content or b"\0" in content:
            return content
        return content.replace(old, self.new.encode())
