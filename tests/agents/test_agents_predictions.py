import shutil
from datetime import timedelta

import pytest

from agentbench.agents.predictions import NO_PREDICTION, PredictionsAgent
from agentbench.errors import SandboxError
from agentbench.scoring.evidence import AgentEnding, Ending
from tests.fakes.ended_sandbox import EndedSandbox
from tests.tasks.origins import run_git

CODE = "".join(f"line {number}\n" for number in range(1, 21))
PATCH = """\
diff --git a/code.py b/code.py
--- a/code.py
+++ b/code.py
@@ -9,5 +9,5 @@
 line 9
 line 10
-line 11
+mended
 line 12
 line 13
"""
FUZZY = PATCH.replace(" line 9\n", " line nine\n")
WRONG = PATCH.replace("-line 11", "-line eleven")


@pytest.fixture
def workspace(workspace):
    """A repository of one commit, and what set-up left in it."""
    (workspace / "code.py").write_text(CODE)
    (workspace / ".gitignore").write_text("*.egg-info\n")
    run_git("init", "--quiet", ".", cwd=workspace)
    run_git("add", "--all", cwd=workspace)
    run_git("commit", "--quiet", "--message", "base", cwd=workspace)
    (workspace / "it.egg-info").write_text("made by set-up")
    (workspace / "made.txt").write_text("made by set-up")
    (workspace / ".gitignore").write_text("*.egg-info\n# changed by set-up\n")
    return workspace


def contents(workspace):
    return {
        str(path.relative_to(workspace)): path.read_text()
        for path in sorted(workspace.rglob("*"))
        if path.is_file() and ".git" not in path.parts
    }


@pytest.fixture
def solve(problem, sandbox, budget):
    def solve(patch):
        agent = PredictionsAgent({problem.id: patch}, name="predictions:x")
        return agent.solve(problem, sandbox, budget, None)

    return solve


def test_a_patch_that_fits_is_applied_and_nothing_else_changes(solve, workspace):
    before = contents(workspace)
    outcome = solve(PATCH.encode())
    assert (outcome.ending, outcome.detail) == (AgentEnding.SUBMITTED, "")
    assert contents(workspace) == {**before, "code.py": CODE.replace("line 11", "mended")}


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs GNU patch")
def test_what_git_refuses_and_patch_takes_with_some_fuzz_is_applied(solve, workspace):
    outcome = solve(FUZZY.encode())
    assert outcome.ending is AgentEnding.SUBMITTED
    assert (workspace / "code.py").read_text() == CODE.replace("line 11", "mended")
    assert (workspace / "it.egg-info").read_text() == "made by set-up"


def test_lines_that_moved_are_found(solve, workspace):
    (workspace / "code.py").write_text(f"new\n{CODE}")
    assert solve(PATCH.encode()).ending is AgentEnding.SUBMITTED
    assert "mended" in (workspace / "code.py").read_text()


def test_a_patch_that_does_not_apply_is_an_error_and_leaves_all_as_it_was(solve, workspace):
    before = contents(workspace)
    outcome = solve(WRONG.encode())
    assert outcome.ending is AgentEnding.TOOL_ERROR
    assert outcome.detail == ("the model's patch does not apply: error: patch failed: code.py:9")
    assert contents(workspace) == before


def test_half_of_a_patch_is_not_applied(solve, workspace):
    before = contents(workspace)
    of_no_file = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
    assert solve(f"{PATCH}{of_no_file}".encode()).ending is AgentEnding.TOOL_ERROR
    assert contents(workspace) == before


@pytest.mark.parametrize(
    "patch",
    [
        b"not a patch\n",
        PATCH.replace("code.py", "../../outside.py").encode(),
        PATCH.replace("code.py", "/etc/passwd").encode(),
        PATCH.replace("code.py", ".git/config").encode(),
    ],
)
def test_what_is_no_patch_or_leads_elsewhere_is_an_error(solve, workspace, patch):
    before = contents(workspace)
    outcome = solve(patch)
    assert outcome.ending is AgentEnding.TOOL_ERROR
    assert outcome.detail.startswith("the model's patch does not apply: ")
    assert contents(workspace) == before


@pytest.mark.parametrize("patch", [None, b""])
def test_an_empty_patch_submits_nothing(solve, workspace, patch):
    before = contents(workspace)
    outcome = solve(patch)
    assert (outcome.ending, outcome.detail) == (
        AgentEnding.SUBMITTED,
        "submitted an empty patch",
    )
    assert contents(workspace) == before


def test_an_instance_that_nobody_answered_is_told_so(problem, sandbox, budget):
    agent = PredictionsAgent({}, name="predictions:x")
    outcome = agent.solve(problem, sandbox, budget, None)
    assert (outcome.ending, outcome.detail) == (AgentEnding.TOOL_ERROR, NO_PREDICTION)


def test_applying_gets_the_time_that_is_left(problem, budget):
    sandbox = EndedSandbox(Ending.TIMED_OUT)
    outcome = PredictionsAgent({problem.id: b"x"}, name="p").solve(problem, sandbox, budget, None)
    assert sandbox.commands[0].timeout <= timedelta(seconds=60)
    assert outcome.ending is AgentEnding.TIME_LIMIT
    assert outcome.detail == "the model's patch could not be applied: ended in timed_out"


def test_a_lost_sandbox_is_not_the_agent_s_to_judge(solve, sandbox):
    sandbox.lost = True
    with pytest.raises(SandboxError):
        solve(PATCH.encode())
