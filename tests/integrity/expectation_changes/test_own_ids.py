import ast

import pytest

from agentbench.integrity.expectation_changes.functions import functions_of, readers_of_own_ids

TESTS = "def test_a(request): ...\ndef test_b(tree):\n    assert tree.node.name\n"


def readers(text: str) -> set[str]:
    tree = ast.parse(text)
    return readers_of_own_ids(tree, functions_of(tree).functions.values())


def test_other_tests_look_at_no_id():
    assert readers(TESTS) == set()


@pytest.mark.parametrize(
    "body",
    [
        "request.node.name",
        "self._request.node",
        "x.callspec",
        "x.nodeid",
        "['PYTEST_CURRENT_TEST']",
    ],
)
def test_a_test_that_looks_at_its_id_is_known(body: str):
    assert readers(f"{TESTS}def test_c(): {body}\n") == {"test_c"}


@pytest.mark.parametrize("body", ["request.node.name", "os.getenv('PYTEST_CURRENT_TEST')"])
def test_a_fixture_may_look_for_every_test(body: str):
    assert readers(f"{TESTS}def fixture(request): return {body}\n") == {"test_a", "test_b"}


@pytest.mark.parametrize("name", ["snapshot", "json_snapshot", "data_regression"])
def test_results_are_kept_under_an_id(name: str):
    assert readers(f"{TESTS}def test_c({name}): ...\n") == {"test_c"}
