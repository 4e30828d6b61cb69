"""Predictions as SWE-bench's own tool takes them: what a model answered for each instance."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, ValidationError

from agentbench.errors import InputError, UsageError
from agentbench.schema import Schema
from agentbench.tasks.importers.refusal import Refusal
from agentbench.tasks.importers.swebench.instance_id import task_id_of
from agentbench.tasks.importers.swebench.patches import as_bytes
from agentbench.tasks.importers.swebench.rows import Row, read_rows
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task_fault import describe_fault

_FAULTS_SHOWN = 20
_MODELS_SHOWN = 5
_NO_MODEL = "None"  # what SWE-bench's own tool calls it


def _text(text: str | None) -> str | None:
    try:
        (text or "").encode()
    except UnicodeEncodeError:
        raise ValueError("bears half of a surrogate pair, which is no text") from None
    return text


class Prediction(Schema):
    """One entry; whatever else it has is passed over."""

    model_config = ConfigDict(extra="ignore")

    instance_id: Annotated[str, Field(min_length=1), AfterValidator(_text)]
    model_name_or_path: Annotated[str, AfterValidator(_text)] = _NO_MODEL
    model_patch: Annotated[str | None, AfterValidator(_text)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """What one model answered; `None` stands for an empty patch, too."""

    model: str
    patches: Mapping[TaskId, bytes | None]


def read_predictions(path: Path, *, model: str | None = None) -> Predictions:
    """Read what one model answered: the one that is asked for, or the only one of a file.

    Raises:
        InputError: the file cannot be read, or entries of it are wrong: each with line and field.
        UsageError: the file has several models and none was named, or not the one that was.
    """
    entries = list(_entries(path))
    by_model: dict[str, dict[TaskId, bytes | None]] = {}
    twice: list[str] = []
    for where, entry in entries:
        own = by_model.setdefault(entry.model_name_or_path, {})
        task_id = task_id_of(entry.instance_id)
        if task_id in own:
            said = "instance_id: is there twice for one model; each needs one prediction"
            twice.append(f"{where}: {entry.instance_id}: {said}")
        own[task_id] = as_bytes(entry.model_patch) if entry.model_patch else None
    if twice:
        raise InputError(*twice[:_FAULTS_SHOWN])
    chosen = _chosen(path, by_model, model)
    return Predictions(model=chosen, patches=by_model.get(chosen, {}))


def _chosen(path: Path, models: Iterable[str], asked: str | None) -> str:
    known = list(models)
    if asked is not None and asked not in known:
        raise UsageError(f"{path}: has no predictions of {asked!r}; there are: {_listed(known)}")
    if asked is None and len(known) > 1:
        raise UsageError(
            f"{path}: has predictions of {len(known)} models; name one as predictions:{path}#MODEL:"
            f" {_listed(known)}"
        )
    return asked if asked is not None else next(iter(known), _NO_MODEL)


def _listed(models: list[str]) -> str:
    more = ", …" if len(models) > _MODELS_SHOWN else ""
    return ", ".join(map(repr, models[:_MODELS_SHOWN])) + more


def _entries(path: Path) -> Iterable[tuple[str, Prediction]]:
    faults: list[str] = []
    for row in read_rows(path):
        if isinstance(row, Refusal):
            faults.append(str(row))
            continue
        try:
            yield row.where, Prediction.model_validate(row.value)
        except ValidationError as error:
            faults.extend(_said(row, error))
    if faults:
        left = len(faults) - _FAULTS_SHOWN
        more = [f"{path}: {left} more faults"] if left > 0 else []
        raise InputError(*faults[:_FAULTS_SHOWN], *more)


def _said(row: Row, error: ValidationError) -> list[str]:
    name = row.value.get("instance_id")
    shown = f": {name}" if isinstance(name, str) and name else ""
    return [f"{row.where}{shown}: {describe_fault(each, Prediction)}" for each in error.errors()]
