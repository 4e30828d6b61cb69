"""What earlier runs of a task's reference solution showed about its test functions."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class FunctionKey:
    """A test function of the task."""

    file: str
    function: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What earlier runs of the reference solution showed about functions of a task."""

    uncertain: frozenset[FunctionKey] = frozenset()  # passed in spite of a changed value
    useless: frozenset[FunctionKey] = frozenset()  # did not do what they had to in any way

    def joined(self, other: "Known") -> "Known":
        """Both together."""
        return Known(
            uncertain=self.uncertain | other.uncertain, useless=self.useless | other.useless
        )
