"""The agent that answers with patches from a file, applied as SWE-bench's own tool applies them."""

from typing import Final

from agentbench.agents.interface import AgentOutcome, Budget, ModelDoor
from agentbench.agents.prediction_file import Predictions, read_predictions
from agentbench.agents.prediction_name import PredictionName
from agentbench.sandbox.archive import tar_of_file
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.scoring.evidence import AgentEnding, CommandResult, Ending
from agentbench.tasks.problem import Problem

NO_PREDICTION: Final = "the file has no prediction for this instance"
"""The detail of an attempt at a task that nobody answered."""

_FILE = "model.patch"
_NO_COMPLAINT = "error: while searching for:"  # the lines follow, and then what is wrong
_DOES_NOT_APPLY = 65  # what the script exits with; no program of it does

# In this order, each in the state that the one before was given, and after the last one whether the
# patch is there although it failed. What set-up left is kept as a commit, or it could not be had
# again: `git clean` would take away what it made.
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


class PredictionsAgent:
    """Applies what a model answered for each task; where it answered nothing, changes nothing."""

    def __init__(self, predictions: Predictions, *, name: str) -> None:
        """Keep the answers; `name` is what records call the agent, and `resume` finds it by."""
        self.name = name
        self._predictions = predictions

    @classmethod
    def of(cls, name: PredictionName) -> "PredictionsAgent":
        """The agent of a file.

        Raises:
            InputError: the file cannot be read or is wrong.
            UsageError: it is of an unknown kind, or it has several models and none was named.
        """
        return cls(read_predictions(name.file, model=name.model), name=str(name))

    def solve(
        self,
        problem: Problem,
        sandbox: Sandbox,
        budget: Budget,
        model: ModelDoor | None,  # noqa: ARG002 - the protocol's
    ) -> AgentOutcome:
        """Apply the task's patch in the sandbox, if there is one."""
        if problem.id not in self._predictions.patches:
            return AgentOutcome(ending=AgentEnding.TOOL_ERROR, detail=NO_PREDICTION)
        patch = self._predictions.patches[problem.id]
        if not patch:
            return AgentOutcome(ending=AgentEnding.SUBMITTED, detail="submitted an empty patch")
        sandbox.write_tree(sandbox.results, tar_of_file(_FILE, patch))
        result = sandbox.run(
            Command(
                argv=("sh", "-c", _SCRIPT, "sh", f"{sandbox.results}/{_FILE}"),
                timeout=budget.remaining(),
            )
        )
        if result.ok:
            return AgentOutcome(ending=AgentEnding.SUBMITTED, steps=1, tool_calls=1)
        return AgentOutcome(ending=_ending(result), detail=_complaint(result), command=result)


def _ending(result: CommandResult) -> AgentEnding:
    timed_out = result.ending is Ending.TIMED_OUT
    return AgentEnding.TIME_LIMIT if timed_out else AgentEnding.TOOL_ERROR


def _complaint(result: CommandResult) -> str:
    if result.exit_code != _DOES_NOT_APPLY:
        return f"the model's patch could not be applied: {_said(result, 'error')}"
    return f"the model's patch does not apply: {_said(result, 'error: ')}"


def _said(result: CommandResult, beginning: str) -> str:
    """The first complaint, which is of the plainest way."""
    lines = [line.strip() for line in result.stderr.splitlines() if line.strip()]
    told = (line for line in lines if line.startswith(beginning) and line != _NO_COMPLAINT)
    return next(told, lines[-1] if lines else f"ended in {result.ending.value}")
