"""Three tiers of tests: quick (`make test`), full (`make test-all`) and soak (`make soak`).

A tier holds the tests of the quicker ones, too. The tier of a test follows from its folder, its
file and the fixtures that it uses. A test in an unknown folder stops the collection. The plugin
tests/tier_plugin.py selects tests by tier and holds each quick test to its tier.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Protocol, TypeVar

import pytest

TESTS = Path(__file__).parent


class Tier(StrEnum):
    """How much of the tests runs, quickest first."""

    QUICK = "quick"
    FULL = "full"
    SOAK = "soak"

    @property
    def rank(self) -> int:
        """Its place: a tier holds what has a lower or the same rank."""
        return list(Tier).index(self)


class Named(Protocol):
    """A row of a table that a test is parametrized with."""

    @property
    def name(self) -> str:
        """What the test is called."""


T = TypeVar("T", bound=Named)


class UnplacedTestError(pytest.UsageError):
    """A test whose tier nothing tells."""


FOLDERS: Mapping[str, Tier] = {
    ".": Tier.QUICK,
    "agents": Tier.QUICK,
    "audit": Tier.QUICK,
    "benchmarks": Tier.QUICK,
    "chaos": Tier.FULL,
    "cli": Tier.QUICK,
    "cheats": Tier.FULL,
    "attempt": Tier.QUICK,
    "core": Tier.QUICK,
    "importers": Tier.QUICK,
    "docs": Tier.QUICK,
    "e2e": Tier.FULL,
    "extensions/adapters": Tier.QUICK,
    "extensions/export": Tier.QUICK,
    "extensions/llm": Tier.QUICK,
    "extensions/mutation": Tier.QUICK,
    "extensions/ray": Tier.QUICK,
    "extensions/service": Tier.QUICK,
    "extensions/symbolic": Tier.FULL,
    "fakes": Tier.QUICK,
    "integrity": Tier.QUICK,
    "judge": Tier.QUICK,
    "models": Tier.QUICK,
    "mcp": Tier.QUICK,
    "test_runs": Tier.QUICK,
    "test_tools": Tier.QUICK,
    "python_source": Tier.QUICK,
    "report": Tier.QUICK,
    "runs": Tier.QUICK,
    "sandbox": Tier.QUICK,
    "scoring": Tier.QUICK,
    "tasks": Tier.QUICK,
    "validation": Tier.QUICK,
    "view": Tier.QUICK,
}
"""The tier of a folder's tests, unless a fixture or their file says more."""

SANDBOXED_FILES = frozenset(
    {
        "extensions/adapters/test_episode.py",
        "extensions/adapters/test_inspect_task.py",
        "extensions/adapters/test_openenv_environment.py",
        "extensions/adapters/test_process_judge.py",
        "extensions/adapters/test_trl_reward.py",
        "extensions/adapters/test_verifiers_taskset.py",
        "models/gateway/test_behind_relay.py",
        "sandbox/egress/test_proxied_sandbox.py",
        "attempt/test_commands_before_tests.py",
        "report/test_failures_of_runs.py",
        "audit/test_attempt_rules.py",
        "extensions/symbolic/differential/test_differential_audit.py",
        "extensions/symbolic/differential/test_search.py",
        "extensions/symbolic/differential/test_cases.py",
        "extensions/symbolic/differential/test_confirmation.py",
        "extensions/symbolic/differential/test_input_search.py",
        "extensions/symbolic/differential/test_trees.py",
        "cli/test_audit.py",
        "cli/test_diagnosis.py",
        "cli/test_doctor.py",
        "cli/tasks/test_validation.py",
        "cli/tasks/test_import_release.py",
        "cli/tasks/test_import_swebench.py",
        "cli/tasks/test_mine.py",
        "cli/tasks/test_history.py",
        "cli/test_old_runs.py",
        "cli/test_outcome.py",
        "cli/test_run_execution.py",
        "cli/test_resume.py",
        "cli/test_run.py",
        "cli/test_shown.py",
        "extensions/mutation/test_task_scores.py",
        "cli/serve/test_task_project.py",
        "cli/test_validate.py",
        "extensions/symbolic/differential/test_run_comparison.py",
        "importers/test_history.py",
        "extensions/export/test_data_set.py",
        "judge/test_judge.py",
        "judge/test_session.py",
        "extensions/service/test_client.py",
        "extensions/service/test_jobs.py",
        "extensions/service/test_restarts.py",
        "extensions/service/test_security.py",
        "extensions/service/test_server.py",
        "extensions/service/test_service_jobs.py",
        "importers/release/test_release_import.py",
        "extensions/mutation/test_mutation_measurement.py",
        "validation/environment/test_trials.py",
        "validation/test_task_proof.py",
        "validation/test_task_validation.py",
        "importers/swebench/test_detected_environments.py",
        "importers/swebench/test_located_tests.py",
        "docs/test_commands.py",
        "docs/test_walkthrough.py",
        "mcp/test_tools.py",
        "runs/test_runs_start.py",
        "sandbox/bubblewrap/test_program.py",
        "sandbox/test_registry.py",
        "sandbox/docker/test_diagnosis.py",
        "attempt/test_verifier_run.py",
    }
)
"""Files with tests that start a sandbox, or speak to an engine, without a fixture's help."""

LONG_FILES = frozenset(
    {
        "extensions/llm/test_llm_agent.py",
        "cli/test_clean.py",
        "cli/tasks/test_import_hub.py",
        "cli/test_dry_run.py",
        "importers/harbor/mounted/test_agentbench_judge.py",
        "report/test_leaderboard_text.py",
        "report/test_significance.py",
        "runs/test_components.py",
        "scoring/test_multiplicity.py",
        "integrity/expectation_changes/test_mutation_engine.py",
        "integrity/expectation_changes/test_mutation_opaque_ids.py",
        "integrity/expectation_changes/test_shipped_tasks.py",
        "integrity/test_suspicious_code.py",
        "importers/swebench/test_importing.py",
        "tasks/project/test_scm_version.py",
        "test_installing.py",
        "test_run.py",
        "view/test_hostile.py",
    }
)
"""Files that take six seconds of CPU time or more."""

FIRST_FILES = (
    "extensions/adapters/test_trl_reward.py",
    "extensions/adapters/test_verifiers_taskset.py",
    "extensions/adapters/test_inspect_task.py",
    "extensions/adapters/test_openenv_environment.py",
    "extensions/symbolic/differential/test_differential_audit.py",
    "extensions/symbolic/differential/test_cases.py",
    "chaos/test_killed_runner.py",
    "chaos/test_lost_engine.py",
    "cli/tasks/test_import_swebench.py",
    "e2e/clients/test_clients_in_bubblewrap.py",
    "e2e/clients/test_clients_in_docker.py",
    "extensions/symbolic/test_mcp_symbolic.py",
    "e2e/test_shared_preparations.py",
    "e2e/test_swebench.py",
    "extensions/ray/test_ray_cluster.py",
)
"""Files with a test or a fixture of half a minute: a worker that began it last would end last."""

FIXTURES: Mapping[str, Tier] = {
    "attempt_by": Tier.FULL,
    "bare_python": Tier.FULL,
    "browser": Tier.FULL,
    "bubblewrap": Tier.FULL,
    "cluster": Tier.FULL,
    "analysis_containers": Tier.FULL,
    "docker": Tier.FULL,
    "elsewhere": Tier.FULL,
    "engine": Tier.FULL,
    "finished": Tier.FULL,
    "analysis_sandboxes": Tier.FULL,
    "naive": Tier.SOAK,
    "open_sandbox": Tier.FULL,
    "plain_python": Tier.FULL,
    "process": Tier.FULL,
    "provider": Tier.FULL,
    "isolated": Tier.FULL,
    "ready": Tier.FULL,
    "toolboxes": Tier.FULL,
    "walled": Tier.FULL,
}
"""The tier of a test that uses a fixture, at least."""

CONFORMANCE: Mapping[str, str] = {
    "docker": "sandbox/docker/test_provider.py",
    "bubblewrap": "sandbox/bubblewrap/test_provider.py",
    "process": "sandbox/process/test_provider.py",
}
"""The file of each sandbox's conformance suite, the strongest sandbox first."""

INSTALLATION = "e2e/test_installation.py"
"""Tries each sandbox of the machine."""


def tier_of(item: pytest.Item, strongest: str) -> Tier:
    """The tier of a test, on a machine with this strongest sandbox.

    Raises:
        UnplacedTestError: Its folder has no tier.
    """
    path = PurePosixPath(item.path.relative_to(TESTS).as_posix())
    if item.get_closest_marker("soak"):
        return Tier.SOAK
    if proves_installation(path, strongest):
        return Tier.QUICK
    tiers = [place_of(path)]
    tiers += [FIXTURES[name] for name in getattr(item, "fixturenames", ()) if name in FIXTURES]
    if item.get_closest_marker("docker"):
        tiers.append(Tier.FULL)
    return max(tiers, key=lambda tier: tier.rank)


def place_of(path: PurePosixPath) -> Tier:
    """The lowest tier of the tests in a file, by its path below tests/.

    Raises:
        UnplacedTestError: Its folder has no tier.
    """
    depth = 2 if path.parts[0] == "extensions" else 1  # each of them has a tier of its own
    folder = "/".join(path.parts[:depth]) if len(path.parts) > depth else "."
    if folder not in FOLDERS:
        raise UnplacedTestError(
            f"tests/{path}: no tier; add its folder to FOLDERS in tests/tiers.py"
        )
    return Tier.FULL if str(path) in SANDBOXED_FILES | LONG_FILES else FOLDERS[folder]


_ON_FIXTURES = ("options", "page", "run_folder", "workshop")
"""Fixtures that use one of FIXTURES."""
_FIXTURES_ASKED = re.compile(r"def (\w+)\(([^)]*)\)|(?:usefixtures|getfixturevalue)\(([^)]*)\)")
_LONGER_MARK = re.compile(r"\bmark\.(docker|soak)\b|\bgate_and_soak\b")


@cache
def may_exceed_quick(path: PurePosixPath) -> bool:
    """Whether a file can have tests of a longer tier, by its folder and its words alone.

    To import the others costs each worker ten seconds and 200 MB, which a run without the quick
    tests does not need. The plugin checks the answer with each file that it does import.
    """
    if place_of(path) is not Tier.QUICK:
        return True
    text = (TESTS / path).read_text("utf-8")
    asked = " ".join(found for groups in _FIXTURES_ASKED.findall(text) for found in groups)
    names = {*FIXTURES, *_ON_FIXTURES}
    return not names.isdisjoint(re.findall(r"\w+", asked)) or _LONGER_MARK.search(text) is not None


def proves_installation(path: PurePosixPath, strongest: str) -> bool:
    """Whether a file's tests belong to the quick tier although they need sandboxes."""
    return str(path) in (INSTALLATION, CONFORMANCE[strongest])


def gate_and_soak(gate: Iterable[T], rows: Iterable[T]) -> list[Any]:
    """Parameters of a test, named by their `name`: some for the gate, the others for the soak."""
    chosen = {row.name for row in gate}
    return [
        pytest.param(row, id=row.name, marks=() if row.name in chosen else pytest.mark.soak)
        for row in rows
    ]


def chosen_tier(config: pytest.Config) -> Tier:
    """The tier of this session."""
    return Tier(config.getoption("--tier"))
