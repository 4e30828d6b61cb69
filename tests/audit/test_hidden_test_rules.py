import pytest

from agentbench.audit import hidden_test_rules
from tests.audit.conftest import told
from tests.e2e.small_task import HIDDEN, LISTED

PATH = "tests/test_hidden.py"


def hidden(source: str, *names: str) -> dict[str, object]:
    """A task whose hidden file is this, and whose listed tests are these."""
    return {"hidden": {PATH: source}, "listed": [f"{PATH}::{name}" for name in names]}


RULES = (
    hidden_test_rules.few_tests,
    hidden_test_rules.weakly_controlled,
    hidden_test_rules.controls_off,
    hidden_test_rules.asserts_nothing,
    hidden_test_rules.touches_configuration,
    hidden_test_rules.no_solution,
    hidden_test_rules.not_read,
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_an_ordinary_task_is_strong_enough(facts_of, rule):
    assert told(rule(facts_of())) == []


def test_a_task_without_listed_tests_is_told_of(facts_of):
    (line,) = told(hidden_test_rules.few_tests(facts_of(listed=[])))
    assert line.startswith("info task.toml: tests.fail_to_pass: lists no test")


def test_one_test_alone_is_few_unless_others_have_to_go_on_passing(facts_of):
    (line,) = told(hidden_test_rules.few_tests(facts_of(listed=LISTED[:1], pass_to_pass="[]")))
    assert line.startswith("info task.toml: tests.fail_to_pass: only one test decides")


def test_one_test_with_a_baseline_is_enough(facts_of):
    assert told(hidden_test_rules.few_tests(facts_of(listed=LISTED[:1]))) == []


def test_a_test_without_an_expected_value_is_weakly_controlled_and_the_share_is_told(facts_of):
    source = HIDDEN + "\n\ndef test_it_runs():\n    basket.total([1])\n"
    facts = facts_of(**hidden(source, "test_every_price_counts", "test_it_runs"))
    (line,) = told(hidden_test_rules.weakly_controlled(facts))
    assert line.startswith(f"warning {PATH}::test_it_runs: weakly controlled: it compares with no")
    assert line.endswith("1 of 2 fail_to_pass functions are controlled")


def test_a_test_that_the_file_does_not_define_is_told_of(facts_of):
    (line,) = told(
        hidden_test_rules.weakly_controlled(facts_of(**hidden(HIDDEN, "TestBase::test_x")))
    )
    assert "the file does not define it; 0 of 1" in line


def test_ids_of_one_function_count_once(facts_of):
    source = (
        "import basket\nimport pytest\n\n\n@pytest.mark.parametrize('p', [[1], [2, 3]])\n"
        "def test_total(p):\n    assert basket.total(p) == sum(p)\n"
    )
    facts = facts_of(**hidden(source, "test_total[p0]", "test_total[p1]"))
    assert len(hidden_test_rules.controlled_functions(facts)) == 1


@pytest.mark.parametrize("source", ["def test_x(:\n", "import \x00\n", "# coding: none\nx = 'ä'\n"])
def test_a_hidden_file_that_is_no_python_is_weakly_controlled(facts_of, source):
    facts = facts_of(**hidden(source, "test_x"))
    (line,) = told(hidden_test_rules.weakly_controlled(facts))
    assert line.startswith(f"warning {PATH}::test_x: weakly controlled: ")


@pytest.mark.parametrize(
    "body",
    ["    basket.total([1])", "    for n in (1, 2):\n        basket.total([n])",
     "    helper()", "    x = basket.total([1]) == 1"],
)  # fmt: skip
def test_a_test_that_asserts_nothing_is_found(facts_of, body):
    source = f"import basket\n\n\ndef helper():\n    helper()\n\n\ndef test_x():\n{body}\n"
    assert told(hidden_test_rules.asserts_nothing(facts_of(**hidden(source, "test_x")))) == [
        f"warning {PATH}::test_x: asserts nothing: any code that raises no error passes it"
    ]


@pytest.mark.parametrize(
    "body",
    ["    assert basket.total([1]) == 1",
     "    with pytest.raises(TypeError):\n        basket.total(1)",
     "    checked(1)", "    self.assertEqual(1, 1)", "    mock.assert_called_once()",
     "    if basket.total([1]) != 1:\n        pytest.fail('x')", "    _check_total(1)",
     "    if basket.total([1]) != 1:\n        raise AssertionError"],
)  # fmt: skip
def test_whatever_can_fail_asserts(facts_of, body):
    helper = "def checked(x):\n    assert x\n"
    source = f"import basket\nimport pytest\n\n\n{helper}\n\ndef test_x():\n{body}\n"
    assert told(hidden_test_rules.asserts_nothing(facts_of(**hidden(source, "test_x")))) == []


def test_a_long_chain_of_helpers_is_followed_to_its_end(facts_of):
    chain = "".join(f"def f{n}():\n    f{n + 1}()\n\n\n" for n in range(3000))
    source = f"{chain}def f3000():\n    assert 1\n\n\ndef test_x():\n    f0()\n"
    assert told(hidden_test_rules.asserts_nothing(facts_of(**hidden(source, "test_x")))) == []


def test_without_listed_tests_every_new_hidden_one_is_looked_at(facts_of):
    source = "import basket\n\n\ndef test_x():\n    basket.total([1])\n"
    facts = facts_of(hidden={PATH: source}, listed=[])
    assert len(told(hidden_test_rules.asserts_nothing(facts))) == 1


def test_a_fix_of_what_is_not_judged_is_told_of(facts_of):
    facts = facts_of(fix={"conftest.py": "x = 1\n", "tests/data.txt": "x\n", "other.py": "x = 1\n"})
    assert told(hidden_test_rules.touches_configuration(facts)) == [
        "info conftest.py: solution.patch changes an unjudged file (configuration of the tests)",
        "info tests/data.txt: solution.patch changes an unjudged file (a test of the task)",
    ]


def test_hidden_configuration_is_told_of(facts_of):
    facts = facts_of(hidden={PATH: HIDDEN, "tests/conftest.py": "x = 1\n"})
    assert told(hidden_test_rules.touches_configuration(facts)) == [
        "info tests/conftest.py: tests.patch changes it (configuration of the tests): "
        "hidden tests run unlike the visible ones"
    ]


def test_a_missing_solution_is_told_of(facts_of):
    (line,) = told(hidden_test_rules.no_solution(facts_of(fix={})))
    assert line.startswith("info solution.patch: is missing")


def test_files_too_large_to_be_looked_into_are_counted(facts_of):
    facts = facts_of(base={"large.bin": b"\x00" * 3_000_000})
    assert told(hidden_test_rules.not_read(facts)) == [
        "info the base tree: 1 files of the base tree are too large to be searched"
    ]


def test_a_task_that_turns_controls_off_is_told_of(facts_of):
    (line,) = told(hidden_test_rules.controls_off(facts_of(tables='[integrity]\ncontrols = "off"')))
    assert line.startswith("info task.toml: integrity.controls: off")
