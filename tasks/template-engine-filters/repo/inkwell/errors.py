"""What goes wrong with templates."""


class TemplateError(Exception):
    """A template cannot be read or rendered; `line` is where, counted from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line
