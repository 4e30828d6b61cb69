"""The base of everything that crosses a file: frozen, and closed to unknown fields."""

import re
from typing import Any

from pydantic import BaseModel, ConfigDict

# What JSON lets stand as it is and a terminal obeys: DEL, C1, marks that turn or hide text.
_OBEYED = re.compile(r"[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


class Schema(BaseModel):
    """A value that is written to disk or sent over a wire."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_timedelta="float")

    def model_dump_json(
        self,
        *,
        indent: int | None = None,
        **options: Any,  # noqa: ANN401 - whatever pydantic takes
    ) -> str:
        """The value as JSON in which every control character is escaped, so that `cat` is safe."""
        text = super().model_dump_json(indent=indent, **options)
        return _OBEYED.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
