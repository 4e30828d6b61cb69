"""Predictions in SWE-bench's format, and the agent that submits them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, ConfigDict, Field, ValidationError

from agentbench.agents.interface import AgentOutcome, Budget
from agentbench.core.schema import Schema, describe_validation_error
from agentbench.errors import InputError, UsageError
from agentbench.models.interface import ModelEndpoint
from agentbench.sandbox.archives import tar_of_file
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.scoring.evidence import AgentEnding, Ending
from agentbench.tasks.dataset_rows import Rejection, patch_bytes, read_rows, task_id_of
from agentbench.tasks.problem import Problem, TaskId

_MAX_FAULTS = 20
_MAX_MODELS = 5
_NO_MODEL = "None"  # SWE-bench's name for it
NO_PREDICTION: Final = "the file has no prediction for this instance"
"""The detail of an attempt at a task without a prediction."""
_PATCH_FILE = "model.patch"
_IGNORED_LINE = "error: while searching for:"  # followed by the lines, and then by the reason
_DOES_NOT_APPLY = 65  # the script's exit code; none of its programs uses it
# Four attempts in this order, each from the same state; then a check whether the patch is applied
# although the last one failed. The result of set-up is committed first, since `git clean` would
# remove its new files.
_SCRIPT = """\
apply() { git apply --verbose "$@" "$patch"; }
again() { git reset --quiet --hard && git clean --quiet -fdx; }
patch=$1
apply && exit 0
export GIT_AUTHOR_NAME=agentbench GIT_AUTHOR_EMAIL=agentbench@localhost
export GIT_COMMITTER_NAME=agentbench GIT_COMMITTER_EMAIL=agentbench@localhost
git add --all --force . \\
  && git commit --quiet --allow-empty --no-verify --message 'What set-up left' || exit 1
apply --3way && exit 0
again && apply --reject && exit 0
again && patch --batch --forward --fuzz=5 -p1 -i "$patch" && exit 0
apply --check --reverse && exit 0
again && exit 65
"""


def _check_text(text: str | None) -> str | None:
    try:
        (text or "").encode()
    except UnicodeEncodeError:
        raise ValueError("contains half of a surrogate pair, which is not text") from None
    return text


class Prediction(Schema):
    """One entry; other fields are ignored."""

    model_config = ConfigDict(extra="ignore")

    instance_id: Annotated[str, Field(min_length=1), AfterValidator(_check_text)]
    model_name_or_path: Annotated[str, AfterValidator(_check_text)] = _NO_MODEL
    model_patch: Annotated[str | None, AfterValidator(_check_text)]


def read_predictions(path: Path, *, model: str | None = None) -> Mapping[TaskId, bytes | None]:
    """Read the patches of one model: the requested one, or the only one in the file.

    `None` is an empty patch.

    Raises:
        InputError: the file cannot be read, or entries are invalid: each with line and field.
        UsageError: the file has several models and none was named, or lacks the named one.
    """
    entries = list(_read_entries(path))
    by_model: dict[str, dict[TaskId, bytes | None]] = {}
    twice: list[str] = []
    for where, entry in entries:
        own = by_model.setdefault(entry.model_name_or_path, {})
        task_id = task_id_of(entry.instance_id)
        if task_id in own:
            message = "instance_id: occurs twice for one model; each needs one prediction"
            twice.append(f"{where}: {entry.instance_id}: {message}")
        own[task_id] = patch_bytes(entry.model_patch) if entry.model_patch else None
    if twice:
        raise InputError(*twice[:_MAX_FAULTS])
    known = list(by_model)
    listed = ", ".join(map(repr, known[:_MAX_MODELS])) + ", …" * (len(known) > _MAX_MODELS)
    if model is not None and model not in known:
        raise UsageError(f"{path}: has no predictions of {model!r}, only of: {listed}")
    if model is None and len(known) > 1:
        raise UsageError(
            f"{path}: has predictions of {len(known)} models; name one as predictions:{path}#MODEL:"
            f" {listed}"
        )
    return by_model[known[0] if model is None else model] if known else {}


def _read_entries(path: Path) -> Iterable[tuple[str, Prediction]]:
    faults: list[str] = []
    for row in read_rows(path):
        if isinstance(row, Rejection):
            faults.append(str(row))
            continue
        try:
            yield row.where, Prediction.model_validate(row.value)
        except ValidationError as error:
            name = row.value.get("instance_id")
            where = f"{row.where}: {name}" if isinstance(name, str) and name else row.where
            descriptions = (describe_validation_error(each, Prediction) for each in error.errors())
            faults += [f"{where}: {fault}" for fault in descriptions]
    if faults:
        remaining = len(faults) - _MAX_FAULTS
        more = [f"{path}: {remaining} more faults"] if remaining > 0 else []
        raise InputError(*faults[:_MAX_FAULTS], *more)


class PredictionsAgent:
    """Applies a model's patch for each task; changes nothing if there is none."""

    writes_files_only = True

    def __init__(self, patches: Mapping[TaskId, bytes | None], *, name: str) -> None:
        """Use the patches; records and `resume` identify the agent by `name`."""
        self.name = name
        self._patches = patches

    def solve(
        self, problem: Problem, sandbox: Sandbox, budget: Budget, model: ModelEndpoint | None
    ) -> AgentOutcome:
        """Apply the task's patch in the sandbox, if it has one."""
        del model
        if problem.id not in self._patches:
            return AgentOutcome(ending=AgentEnding.TOOL_ERROR, detail=NO_PREDICTION)
        patch = self._patches[problem.id]
        if not patch:
            return AgentOutcome(ending=AgentEnding.SUBMITTED, detail="submitted an empty patch")
        sandbox.write_tree(sandbox.results, tar_of_file(_PATCH_FILE, patch))
        result = sandbox.run(
            Command(
                argv=("sh", "-c", _SCRIPT, "sh", f"{sandbox.results}/{_PATCH_FILE}"),
                timeout=budget.remaining(),
            )
        )
        if result.ok:
            return AgentOutcome(ending=AgentEnding.SUBMITTED, steps=1, tool_calls=1)
        timed_out = result.ending is Ending.TIMED_OUT
        ending = AgentEnding.TIME_LIMIT if timed_out else AgentEnding.TOOL_ERROR
        # The first error says why; git then repeats the lines that it searched for.
        refused = result.exit_code == _DOES_NOT_APPLY
        what = "does not apply" if refused else "could not be applied"
        lines = [line.strip() for line in result.stderr.splitlines() if line.strip()]
        beginning = "error: " if refused else "error"
        errors = (line for line in lines if line.startswith(beginning) and line != _IGNORED_LINE)
        first = next(errors, lines[-1] if lines else f"ended in {result.ending.value}")
        detail = f"the model's patch {what}: {first}"
        name = patch.strip()
        if b"\n" not in name and name.endswith((b".patch", b".diff")):
            # Never look for the file: the text may come from a model, or from another machine.
            detail += "; the text looks like a file's name: pass pathlib.Path(…) to judge the file"
        return AgentOutcome(ending=ending, detail=detail, command=result)
