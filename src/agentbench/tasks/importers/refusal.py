"""What an importer could not take, and why."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One fault of one thing that was to become a task; the others are not touched by it."""

    where: str
    """The file, with its line where it has one; or the package, or the commit."""
    what: str
    """What was expected, what was found, what to do."""
    instance: str = ""
    """Which of a file's tasks it is, as that file calls it."""
    field: str = ""
    """The field, as its format calls it; parts of a path with dots between."""

    def __str__(self) -> str:
        return ": ".join(
            part for part in (self.where, self.instance, self.field, self.what) if part
        )
