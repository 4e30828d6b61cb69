import json
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from agentbench.agents.predictions import NO_PREDICTION, PredictionsAgent, read_predictions
from agentbench.agents.registry import PredictionName
from agentbench.errors import InputError, SandboxError, UsageError
from agentbench.scoring.evidence import AgentEnding, Ending
from tests.fakes.ended_sandbox import EndedSandbox
from tests.tasks.origins import run_git


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("text", "file", "model"),
    [
        ("predictions:preds.json", "preds.json", None),
        ("predictions:a/preds.jsonl#gpt/5", "a/preds.jsonl", "gpt/5"),
        ("predictions:preds.json#", "preds.json", ""),
        ("predictions:", "", None),
    ],
)
def test_model_follows_file_in_name(text, file, model):
    assert PredictionName.parse(text) == PredictionName(file=Path(file), model=model)


def test_file_name_may_contain_the_separator(tmp_path):
    (tmp_path / "a#b.json").touch()
    parsed = PredictionName.parse("predictions:a#b.json")
    assert parsed == PredictionName(file=Path("a#b.json"))
    assert PredictionName.parse(str(parsed)) == PredictionName(file=tmp_path / "a#b.json")


def test_name_of_another_agent_is_no_predictions_name():
    assert PredictionName.parse("oracle") is None
    assert PredictionName.parse("my.predictions:agent") is None


def test_predictions_name_has_absolute_path(tmp_path):
    named = str(PredictionName.parse("predictions:preds.json#m"))
    assert named == f"predictions:{tmp_path}/preds.json#m"


FIRST = {"instance_id": "A__b-1", "model_name_or_path": "m", "model_patch": "mended"}
EMPTY = {"instance_id": "A__b-2", "model_name_or_path": "m", "model_patch": ""}
NONE = {"instance_id": "A__b-3", "model_name_or_path": "m", "model_patch": None}
OTHER = {**FIRST, "model_name_or_path": "other"}
PATCHES = {"a__b-1": b"mended\n", "a__b-2": None, "a__b-3": None}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("preds.json", json.dumps([FIRST, EMPTY, NONE])),
        ("preds.json", json.dumps({each["instance_id"]: each for each in (FIRST, EMPTY, NONE)})),
        ("preds.jsonl", "\r\n".join(map(json.dumps, (FIRST, EMPTY, NONE)))),
    ],
)
def test_each_format_of_swe_bench_is_read(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    found = read_predictions(tmp_path / name)
    assert dict(found) == PATCHES


@pytest.fixture
def write(tmp_path):
    def write(*entries):
        path = tmp_path / "preds.jsonl"
        lines = (each if isinstance(each, str) else json.dumps(each) for each in entries)
        path.write_text("\n".join(lines))
        return path

    return write


def test_other_fields_of_prediction_are_ignored(write):
    found = read_predictions(write({**FIRST, "full_output": "...", "cost": 1}))
    assert found == {"a__b-1": b"mended\n"}


def test_model_without_name_is_none(write):
    path = write({"instance_id": "a", "model_patch": "x"})
    assert read_predictions(path, model="None") == read_predictions(path)


def test_file_of_several_models_needs_a_model(write):
    path = write(FIRST, OTHER)
    with pytest.raises(UsageError) as result:
        read_predictions(path)
    assert str(result.value) == (
        f"{path}: has predictions of 2 models; name one as predictions:{path}#MODEL: 'm', 'other'"
    )
    assert read_predictions(path, model="other")
    with pytest.raises(UsageError, match="has no predictions of 'third', only of: 'm', 'other'"):
        read_predictions(path, model="third")


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ({"model_patch": "x"}, "instance_id: is missing"),
        ({**FIRST, "instance_id": 3}, "instance_id: 3 is not a string"),
        ({"instance_id": "A__b-9"}, "A__b-9: model_patch: is missing"),
        ({**OTHER, "model_patch": 5}, "A__b-1: model_patch: 5 is not a string"),
        ({**OTHER, "model_patch": "\ud800"}, "A__b-1: model_patch: "),
        ({**FIRST, "model_name_or_path": []}, "A__b-1: model_name_or_path: [] is not a string"),
        ("{", "is not JSON: "),
        ("\ufeff{}", "begins with a byte order mark"),
        ("[]", "expected an object, found []"),
    ],
)
def test_invalid_prediction_is_refused_with_line_and_field(write, entry, what):
    path = write(NONE, entry)
    with pytest.raises(InputError) as result:
        read_predictions(path)
    (fault,) = result.value.faults
    assert fault.startswith(f"{path}:2: {what}")


@pytest.mark.parametrize("instance_id", ["A__b-1", "a__B-1"])
def test_duplicate_predictions_are_refused(write, instance_id):
    path = write(FIRST, {**FIRST, "instance_id": instance_id})
    with pytest.raises(InputError) as result:
        read_predictions(path)
    assert str(result.value).startswith(f"{path}:2: {instance_id}: instance_id: occurs twice")


def test_number_of_reported_faults_is_limited(write):
    path = write(*["{"] * 50)
    with pytest.raises(InputError) as result:
        read_predictions(path)
    assert len(result.value.faults) == 21
    assert result.value.faults[-1] == f"{path}: 30 more faults"


def test_an_empty_file_has_no_predictions(write):
    assert read_predictions(write()) == {}


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


def test_fitting_patch_is_applied(solve, workspace):
    before = contents(workspace)
    outcome = solve(PATCH.encode())
    assert (outcome.ending, outcome.detail) == (AgentEnding.SUBMITTED, "")
    assert contents(workspace) == {**before, "code.py": CODE.replace("line 11", "mended")}


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs GNU patch")
def test_patch_is_applied_with_fuzz(solve, workspace):
    outcome = solve(FUZZY.encode())
    assert outcome.ending is AgentEnding.SUBMITTED
    assert (workspace / "code.py").read_text() == CODE.replace("line 11", "mended")
    assert (workspace / "it.egg-info").read_text() == "made by set-up"


def test_moved_lines_are_found(solve, workspace):
    (workspace / "code.py").write_text(f"new\n{CODE}")
    assert solve(PATCH.encode()).ending is AgentEnding.SUBMITTED
    assert "mended" in (workspace / "code.py").read_text()


def test_patch_that_does_not_apply_changes_nothing(solve, workspace):
    before = contents(workspace)
    outcome = solve(WRONG.encode())
    assert outcome.ending is AgentEnding.TOOL_ERROR
    assert outcome.detail == ("the model's patch does not apply: error: patch failed: code.py:9")
    assert contents(workspace) == before


def test_patch_is_not_applied_partly(solve, workspace):
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
def test_malformed_or_escaping_patch_is_an_error(solve, workspace, patch):
    before = contents(workspace)
    outcome = solve(patch)
    assert outcome.ending is AgentEnding.TOOL_ERROR
    assert outcome.detail.startswith("the model's patch does not apply: ")
    assert contents(workspace) == before


def test_text_that_names_a_file_has_a_hint(solve):
    assert "pass pathlib.Path(…) to judge the file" in solve(b"fixes/my.patch\n").detail
    assert "pathlib" not in solve(b"not a patch\n").detail


@pytest.mark.parametrize("patch", [None, b""])
def test_empty_patch_changes_nothing(solve, workspace, patch):
    before = contents(workspace)
    outcome = solve(patch)
    assert (outcome.ending, outcome.detail) == (
        AgentEnding.SUBMITTED,
        "submitted an empty patch",
    )
    assert contents(workspace) == before


def test_missing_prediction_is_a_tool_error(problem, sandbox, budget):
    agent = PredictionsAgent({}, name="predictions:x")
    outcome = agent.solve(problem, sandbox, budget, None)
    assert (outcome.ending, outcome.detail) == (AgentEnding.TOOL_ERROR, NO_PREDICTION)


def test_patch_gets_the_remaining_time(problem, budget):
    sandbox = EndedSandbox(Ending.TIMED_OUT)
    outcome = PredictionsAgent({problem.id: b"x"}, name="p").solve(problem, sandbox, budget, None)
    assert sandbox.commands[0].timeout <= timedelta(seconds=60)
    assert outcome.ending is AgentEnding.TIME_LIMIT
    assert outcome.detail == "the model's patch could not be applied: ended in timed_out"


def test_lost_sandbox_is_raised_by_predictions_agent(solve, sandbox):
    sandbox.lost = True
    with pytest.raises(SandboxError):
        solve(PATCH.encode())
