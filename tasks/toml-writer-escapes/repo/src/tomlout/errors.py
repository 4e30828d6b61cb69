"""What a caller may have to catch."""


class TomlWriteError(ValueError):
    """A value that has no form in TOML, and where it was found."""

    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        self.reason = reason
        super().__init__(f"{place}: {reason}" if place else reason)
