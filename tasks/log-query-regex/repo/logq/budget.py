"""A limit on the work of one match."""

DEFAULT_STEPS = 100_000


class PatternTooExpensive(Exception):
    """A match took more steps than it was given."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        super().__init__(f"the pattern needs more than {steps} steps on this text")


class Budget:
    """Steps that a match may take."""

    def __init__(self, steps: int = DEFAULT_STEPS) -> None:
        self.steps = steps
        self.spent = 0

    def spend(self) -> None:
        """Take one step.

        Raises:
            PatternTooExpensive: There is none left.
        """
        if self.spent >= self.steps:
            raise PatternTooExpensive(self.steps)
        self.spent += 1
