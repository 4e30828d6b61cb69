"""The task for inspect-ai: the solver applies the reference solution, the scorer runs pytest."""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import sandbox
from inspect_ai.util._sandbox.docker import prereqs

# It wants an engine of 2023 or newer; what it asks of one, older ones do as well.
prereqs.validate_docker_engine.__defaults__ = ("20.10.0",)
HERE = Path(__file__).parent


@solver
def reference() -> Solver:
    """The agent that has the solution."""

    async def solve(state: TaskState, _generate: Generate) -> TaskState:
        ended = await sandbox().exec(["git", "apply", "/patches/solution.patch"], cwd="/app")
        if not ended.success:
            raise RuntimeError(ended.stderr)
        return state

    return solve


@scorer(metrics=[accuracy()])
def tests() -> Scorer:
    """Whether the tests pass, the hidden ones among them."""

    async def score(_state: TaskState, _target: Target) -> Score:
        judge = "git apply /patches/tests.patch && python -m pytest -q tests"
        ended = await sandbox().exec(["sh", "-c", judge], cwd="/app")
        return Score(value=CORRECT if ended.success else INCORRECT, explanation=ended.stdout)

    return score


@task
def bug() -> Task:
    """One sample; a sample is judged as often as --epochs says."""
    files = {f"/patches/{path.name}": str(path) for path in HERE.glob("*.patch")}
    return Task(
        dataset=[Sample(input="mend it", files=files)],
        solver=reference(),
        scorer=tests(),
        sandbox=("docker", str(HERE / "compose.yaml")),
    )
