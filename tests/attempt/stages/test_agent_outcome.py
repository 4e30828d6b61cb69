import subprocess
from pathlib import Path
from pathlib import PurePosixPath as P

import pytest

from agentbench.agents.interface import AgentOutcome
from agentbench.attempt.agent_work.agent_outcome import combined_outcome, render_patch
from agentbench.core.files import FileContent
from agentbench.models.interface import ModelUsage
from agentbench.scoring.evidence import AgentEnding, Evidence

BASE = {P("a.txt"): b"one\ntwo\nthree\n", P("gone.txt"): b"bye\n", P("bare"): b"no line end"}


def file(content: bytes, *, executable: bool = False) -> FileContent:
    return FileContent(content=content, executable=executable)


def test_what_is_shown_is_a_patch_that_git_can_apply(tmp_path: Path):
    change = {
        P("a.txt"): file(b"one\n2\nthree\n"),
        P("gone.txt"): None,
        P("bare"): file(b"still none"),
        P("sub/new.sh"): file(b"echo\n", executable=True),
    }
    for path, content in BASE.items():
        (tmp_path / path).write_bytes(content)
    (tmp_path / "change.patch").write_bytes(render_patch(change, BASE.get))
    subprocess.run(["git", "apply", "change.patch"], cwd=tmp_path, check=True)
    assert (tmp_path / "a.txt").read_bytes() == b"one\n2\nthree\n"
    assert not (tmp_path / "gone.txt").exists()
    assert (tmp_path / "bare").read_bytes() == b"still none"
    assert (tmp_path / "sub/new.sh").read_bytes() == b"echo\n"
    assert (tmp_path / "sub/new.sh").stat().st_mode & 0o100


def test_files_come_in_the_order_of_their_names():
    text = render_patch({P("b"): file(b"b\n"), P("a"): file(b"a\n")}, {}.get)
    assert text.index(b"a/a b/a") < text.index(b"a/b b/b")


def test_a_file_that_only_became_executable_says_so():
    text = render_patch({P("gone.txt"): file(b"bye\n", executable=True)}, BASE.get)
    assert text == b"diff --git a/gone.txt b/gone.txt\nnew mode 100755\n"


@pytest.mark.parametrize(
    "content",
    [b"\0binary", b"x" * (512 * 1024 + 1), b"\n" * 20_001],
    ids=["binary", "long", "many"],
)
def test_binary_and_large_files_are_named_only(content):
    text = render_patch({P("new"): file(content)}, {}.get)
    assert text.endswith(b"Binary or large files differ\n")
    assert len(text) < 200


def test_a_name_that_is_no_unicode_is_shown_escaped():
    assert rb"\udce9" in render_patch({P("caf\udce9"): file(b"")}, {}.get)


def test_no_change_is_no_text():
    assert render_patch({}, BASE.get) == b""


@pytest.mark.parametrize(("costs", "cost"), [((0.5, 0.25), 0.75), ((0.5, None), None)])
def test_the_outcome_of_steps_counts_all_of_them_and_ends_as_their_evidence_says(costs, cost):
    outcomes = [
        AgentOutcome(
            ending=AgentEnding.SUBMITTED,
            steps=2,
            tool_calls=3,
            usage=ModelUsage(requests=4, input_tokens=5, cost_usd=each),
        )
        for each in costs
    ]
    late = Evidence(agent=AgentEnding.TIME_LIMIT, agent_detail="step one: late")
    found = combined_outcome(outcomes, late)
    assert found is not None
    assert (found.ending, found.detail) == (AgentEnding.TIME_LIMIT, "step one: late")
    assert (found.steps, found.tool_calls) == (4, 6)
    assert found.usage == ModelUsage(requests=8, input_tokens=10, cost_usd=cost)
    assert combined_outcome([], late) is None
