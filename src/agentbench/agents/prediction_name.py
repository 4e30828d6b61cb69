"""What `--agent predictions:FILE` and `--agent predictions:FILE#MODEL` name."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

PREFIX: Final = "predictions:"
"""How such a name begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionName:
    """A file of predictions, and the model of it that is asked for, if it has several."""

    file: Path
    model: str | None = None

    @classmethod
    def parse(cls, text: str) -> "PredictionName | None":
        """What an agent's name names; None: another agent."""
        if not text.startswith(PREFIX):
            return None
        rest = text.removeprefix(PREFIX)
        file, mark, model = rest.partition("#")
        if not mark or Path(rest).exists():
            return cls(file=Path(rest))
        return cls(file=Path(file), model=model)

    def __str__(self) -> str:
        """The name by which the same is found from any folder, as `resume` may be called there."""
        whole = f"{PREFIX}{self.file.resolve()}"
        return whole if self.model is None else f"{whole}#{self.model}"
