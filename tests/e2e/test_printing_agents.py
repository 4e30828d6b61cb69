"""An agent in Python may print; documents on stdout stay as they are."""

import json
from textwrap import dedent

import pytest

from tests.e2e.program import run_program
from tests.e2e.small_task import SmallTask

AGENT = """
    import os, subprocess, sys, threading
    from agentbench.agents.interface import AgentOutcome
    from agentbench.scoring import AgentEnding

    def solve(problem, sandbox, budget, model):
        {line}
        return AgentOutcome(ending=AgentEnding.SUBMITTED)
"""
IN_THE_LOG = {
    "print": "print('the agent says', os.environ['SOME_TOKEN'])",
    "print to stderr": "print('the agent says', file=sys.stderr)",
    "write without a newline": "sys.stdout.write('the agent says')",
}
ON_STDERR = {
    "thread": "t = threading.Thread(target=print, args=('the agent says',)); t.start(); t.join()",
    "child": "subprocess.run(['echo', 'the agent says'])",
    "descriptor": "os.write(1, b'the agent says')",
    "buffer": "sys.stdout.buffer.write(b'the agent says'); sys.stdout.buffer.flush()",
}


@pytest.mark.parametrize("name", [*IN_THE_LOG, *ON_STDERR])
def test_json_stays_json_whatever_an_agent_prints(name, environ, tmp_path):
    SmallTask().write(tmp_path / "small")
    line = {**IN_THE_LOG, **ON_STDERR}[name]
    (tmp_path / "my_agents.py").write_text(dedent(AGENT.format(line=line)))
    said = run_program(
        *("run", "small", "--agent", "my_agents:solve", "--sandbox", "process", "--json"),
        *("--allow-unsandboxed", "--run-id", "mine"),
        env={**environ, "SOME_TOKEN": "a-secret-of-this-machine"}, cwd=tmp_path,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    (attempt,) = json.loads(said.stdout)["attempts"]
    assert attempt["failure_reason"] == "TESTS_FAILED"
    log = tmp_path / "runs/mine/attempts/small/1/stages/agent_run.log"
    text = log.read_text() if log.exists() else ""
    assert ("the agent says" in text) == (name in IN_THE_LOG)
    assert ("the agent says" in said.stderr) == (name in ON_STDERR)
    assert "a-secret-of-this-machine" not in text + said.stderr
