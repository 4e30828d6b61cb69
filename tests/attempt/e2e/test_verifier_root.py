"""Agents that are root of their container, and scripts that judge there or in a fresh one."""

import pytest

from agentbench.tasks.scripts import VerifierEnvironment
from agentbench.taxonomy import Fault
from tests.attempt.e2e import test_verifier_run
from tests.attempt.e2e.test_verifier_run import agent, oracle

bench = test_verifier_run.bench
pytestmark = pytest.mark.docker

SECRET = "verifiers-secret-4711"
KILL_MAIN = """
for each in /proc/[0-9]*; do
  case $(tr '\\0' ' ' < $each/cmdline) in *"read -r req""uest"*) kill -9 ${each#/proc/} ;; esac
done
sleep 60
"""
PLANT_REWARDS = (
    "rm -rf /logs/verifier; ln -s /app /logs/verifier; echo 1 > /app/reward.txt",
    "rm -rf /tests; ln -s /app /tests; printf 'echo 1 > /logs/verifier/reward.txt' > /app/test.sh",
    "mkdir -p /logs/verifier /tests; echo 1 > /logs/verifier/reward.txt; chmod 400 /logs/verifier",
    "rm -rf /logs; echo 1 > /logs",
)
"""What would give a reward if the script's folders were left as they are."""


def test_shared_container_finds_tools_installed_by_root(bench):
    test = (
        "#!/bin/bash\n/usr/local/bin/tool && said=1 || said=0\n"
        "echo $said > /logs/verifier/reward.txt"
    )
    task = bench.task("hello", {"tests/test.sh": test}, user="root")
    tool = "printf '#!/bin/sh\\nexit 0\\n' > /usr/local/bin/tool; chmod +x /usr/local/bin/tool"
    record = bench.attempt(task, agent(tool))
    assert record.resolved, record.detail
    environment = record.environment
    assert (environment.user, environment.verifier_user) == ("root", "root")
    assert environment.verifier_environment is VerifierEnvironment.SHARED
    assert record.controls is not None
    assert "weaker" in record.controls.model_dump_json()


def test_shared_container_keeps_processes_of_root(bench):
    test = (
        "#!/bin/bash\nkill -0 $(cat /run/server.pid) && said=1 || said=0\n"
        "echo $said > /logs/verifier/reward.txt"
    )
    task = bench.task("hello", {"tests/test.sh": test}, user="root")
    record = bench.attempt(task, agent("sleep 1000 > /dev/null 2>&1 & echo $! > /run/server.pid"))
    assert record.resolved, record.detail


@pytest.mark.parametrize("name", ["hello", "separate"])
@pytest.mark.parametrize("plant", PLANT_REWARDS)
def test_planted_rewards_and_scripts_have_no_effect(bench, name, plant):
    record = bench.attempt(bench.task(name, user="root"), agent(plant))
    assert not record.resolved, record.rewards
    assert record.fault is Fault.AGENT, record.detail


def test_replaced_programs_do_not_reach_a_fresh_container(bench):
    replaced = "printf '#!/bin/sh\\necho 1 > /logs/verifier/reward.txt\\n' > /bin/bash"
    record = bench.attempt(bench.task("separate", user="root"), agent(replaced))
    assert (record.resolved, record.rewards) == (False, {"reward": 0.0})
    assert record.environment.verifier_environment is VerifierEnvironment.FRESH


def test_root_that_ends_its_container_fails_by_its_own_fault(bench):
    record = bench.attempt(bench.task("hello", user="root"), agent(KILL_MAIN))
    assert (record.resolved, record.fault) == (False, Fault.AGENT), record.detail
    assert "ended the sandbox itself" in record.detail


@pytest.mark.parametrize("name", ["hello", "separate"])
def test_scripts_and_secrets_are_absent_while_root_works(bench, name):
    secrets = {"tests/secret.txt": SECRET, "solution/secret.txt": SECRET}
    task = bench.task(name, secrets, user="root", verifier={"env": {"KEY": SECRET}})
    found = "env GREETING=1 grep -rsl --exclude-dir=sys --exclude-dir=mem SECR'E'T / > /app/found"
    search = found.replace("SECR'E'T", f"{SECRET[:-4]}'{SECRET[-4:]}'")
    record = bench.attempt(task, agent(f"timeout 60 {search}; true"))
    assert not record.resolved
    patch = (bench.place / "patch.diff").read_text()
    assert "app/found" in patch or "/found" in patch
    assert "/secret.txt" not in patch
    assert "environ" not in patch


def test_solution_of_root_is_resolved_in_a_fresh_container(bench):
    task = bench.task("separate", user="root")
    record = bench.attempt(task, oracle(task))
    assert record.resolved, record.detail
