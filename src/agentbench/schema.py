"""The base of everything that crosses a file: frozen, and closed to unknown fields."""

from pydantic import BaseModel, ConfigDict


class Schema(BaseModel):
    """A value that is written to disk or sent over a wire."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_timedelta="float")
