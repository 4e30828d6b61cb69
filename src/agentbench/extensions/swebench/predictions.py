"""The patches of a run as SWE-bench's predictions: one JSON line per instance."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from agentbench.agents.predictions import NO_PREDICTION, Prediction
from agentbench.agents.registry import PredictionName
from agentbench.attempt.record import AttemptRecord
from agentbench.errors import InputError
from agentbench.extensions.swebench.report import ReportedInstance
from agentbench.runs.store.store import RunStore

# The record's own name could lead out of the folder.
_PATCH_FILE = "patch.diff"


def predictions_of(
    folder: Path, instances: Sequence[ReportedInstance], *, warn: Callable[[str], None]
) -> Iterator[Prediction]:
    """A prediction for each instance that the agent worked on; without a change, an empty patch.

    Args:
        folder: The run's folder.
        instances: The run's instances with their attempts.
        warn: Receives a line for each patch that is missing, damaged or not UTF-8 text.
    """
    store = RunStore(folder)
    for instance in instances:
        record = instance.record
        if record is None or record.agent_run is None or record.agent_run.detail == NO_PREDICTION:
            continue
        try:
            patch = _patch_text(record, store.folder_of(record))
        except InputError as error:
            warn(f"{instance.instance_id}: no prediction: {error}")
            continue
        # Submitted predictions keep the name of the model that made them.
        submitted = PredictionName.parse(record.agent)
        name = record.agent if record.model is None else f"{record.agent}+{record.model}"
        if submitted is not None:
            name = submitted.model or submitted.file.stem
        yield Prediction(
            instance_id=instance.instance_id,
            model_name_or_path=name,
            model_patch=patch,
        )


def _patch_text(record: AttemptRecord, folder: Path) -> str:
    patch = record.patch
    if patch is None or not patch.files:
        return ""
    path = folder / _PATCH_FILE
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if hashlib.sha256(content).hexdigest() != patch.sha256:
        raise InputError(f"{path}: was changed since the attempt")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text; a prediction must be") from None
