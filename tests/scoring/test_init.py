"""The door to scoring: cheap to open, and every name behind it is there."""

import subprocess
import sys
from itertools import permutations

import pytest

from agentbench import scoring

SUBMODULES = ("classification", "evidence", "expectation", "statistics", "verdict")


def python(code: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


@pytest.mark.parametrize("name", ["FailureReason", "StageName", "Fault"])
def test_taxonomy_costs_no_pydantic(name):
    loaded = python(
        f"import sys; from agentbench.scoring import {name};"
        "print({'pydantic', 'docker', 'scipy', 'git'} & set(sys.modules))"
    )
    assert loaded == "set()"


def test_every_public_name_resolves_to_the_thing_of_that_name():
    for name in scoring.__all__:
        assert getattr(scoring, name).__name__ == name
    assert set(scoring.__all__) >= {"FailureReason", "Verdict", "classify", "judge"}


def test_names_resolve_after_the_submodules_were_imported_in_any_order():
    code = """
import sys
from itertools import permutations
from importlib import import_module
for order in list(permutations({submodules}))[::{step}]:
    for name in [name for name in sys.modules if name.startswith("agentbench")]:
        del sys.modules[name]
    for name in order:
        import_module("agentbench.scoring." + name)
    scoring = sys.modules["agentbench.scoring"]
    for name in scoring.__all__:
        assert getattr(scoring, name).__name__ == name, (order, name)
    assert scoring.classify is sys.modules["agentbench.scoring.classification"].classify
    print(order[0])
"""
    starts = python(code.format(submodules=SUBMODULES, step=10)).splitlines()
    assert len(starts) == len(list(permutations(SUBMODULES))) // 10
    assert set(starts) == set(SUBMODULES)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'judgement'"):
        scoring.judgement  # noqa: B018 - asking is the test


@pytest.mark.parametrize(
    "module",
    ["paired_comparison", "statistics"],
)
def test_no_statistic_costs_scipy_before_it_is_asked_for(module):
    loaded = python(
        f"import sys, agentbench.scoring.{module};"
        "print({'numpy', 'scipy', 'statsmodels', 'pandas'} & set(sys.modules))"
    )
    assert loaded == "set()"
