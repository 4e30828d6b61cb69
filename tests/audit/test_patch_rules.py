import pytest

from agentbench.audit import attempt_rules
from agentbench.tasks.control_level import ControlLevel
from tests.audit.conftest import attempt_of, make_run, told
from tests.e2e.small_task import BUGGY, FIXED, HIDDEN, LISTED

OTHER_FIX = BUGGY.replace("sum(prices[1:])", "sum(list(prices))")
RULES = (
    attempt_rules.equals_solution,
    attempt_rules.hidden_tests_in_patch,
    attempt_rules.fetched_upstream,
    attempt_rules.suspicious,
)


@pytest.fixture
def attempt(tmp_path):
    return lambda **more: attempt_of(make_run(tmp_path, controls=ControlLevel.OFF, **more))


def test_an_honest_attempt_shows_nothing_odd(attempt):
    own_test = "import basket\n\n\ndef test_mine():\n    assert basket.total([1, 2, 4]) == 7\n"
    facts = attempt(
        files={"basket.py": OTHER_FIX, "tests/test_mine.py": own_test},
        says="python -m pytest; pip --version; git status; pip install -e .",
    )
    assert facts.record.resolved
    assert {file.path for file in facts.raw_patch} == {"basket.py", "tests/test_mine.py"}
    for rule in RULES:
        assert told(rule(facts)) == []


def test_the_reference_fix_itself_is_information(run_folder):
    assert told(attempt_rules.equals_solution(attempt_of(run_folder))) == [
        "info patch.diff: changes the same 2 lines as solution.patch: memorised, leaked or obvious"
    ]


def test_the_oracle_may_have_the_reference_fix(attempt):
    assert (
        told(attempt_rules.equals_solution(attempt(files={"basket.py": FIXED}, name="oracle")))
        == []
    )


def test_a_task_without_a_fix_has_none_to_equal(attempt):
    facts = attempt(files={"basket.py": FIXED}, fix={})
    assert told(attempt_rules.equals_solution(facts)) == []


def test_hidden_tests_in_a_patch_are_found_also_where_they_were_dropped(attempt):
    copied = HIDDEN.replace("def test_one_price_is_the_total", "def test_something_else")
    facts = attempt(files={"basket.py": OTHER_FIX, "tests/test_x.py": copied})
    assert [file.path for file in facts.patch] == ["basket.py"]
    lines = told(attempt_rules.hidden_tests_in_patch(facts))
    assert lines[-1] == "warning tests/test_x.py: names hidden tests: test_every_price_counts"
    assert lines[0].startswith("warning tests/test_x.py: adds ")


def test_what_the_instruction_tells_may_be_repeated(attempt):
    facts = attempt(files={"tests/test_x.py": HIDDEN}, instruction=f"{HIDDEN}\n")
    assert told(attempt_rules.hidden_tests_in_patch(facts)) == []


def test_a_short_name_of_a_test_may_be_anybodys_idea(attempt):
    hidden = "import basket\n\n\ndef test_total():\n    assert basket.total([1]) == 1\n"
    facts = attempt(
        files={"tests/test_x.py": "def test_total():\n    pass\n"},
        hidden={"tests/test_hidden.py": hidden},
        listed=["tests/test_hidden.py::test_total"],
    )
    assert LISTED
    assert told(attempt_rules.hidden_tests_in_patch(facts)) == []


@pytest.mark.parametrize(
    "said",
    ["pip download basket", "$ git fetch origin", "git clone --depth 1 https://h/x", "curl -sL https://h/x",
     "python -m pip install basket==2.0", "wget -q http://h/x", "git pull", "git clone git@h:x"],
)  # fmt: skip
def test_an_agent_that_asks_for_the_network_is_told_of(run_folder, said):
    log = run_folder / "attempts/small/1/stages/agent_run.log"
    log.write_bytes(b"[    0.1 stdout] \xff\n" + 2 * f"[    0.2 stdout] $ {said}\n".encode())
    (line,) = told(attempt_rules.fetched_upstream(attempt_of(run_folder)))
    assert line.startswith("info stages/agent_run.log:2: mentions: ")
    assert said[:8] in line


def test_suspicious_code_is_shown_with_its_line(attempt):
    cheat = OTHER_FIX + "\n\nimport sys\nCALLER = sys._getframe(0)\n"
    facts = attempt(files={"basket.py": cheat, "more.py": "import ctypes\n"})
    assert told(attempt_rules.suspicious(facts)) == [
        "info basket.py:15: reads the frames of its callers: CALLER = sys._getframe(0)",
        "info more.py:1: reaches past the interpreter: import ctypes",
    ]


def test_what_the_base_already_had_is_not_new(attempt):
    odd = "import ctypes\n\n\ndef f():\n    return ctypes\n"
    facts = attempt(base={"odd.py": odd}, files={"odd.py": odd.replace("f():", "g():")})
    assert [file.path for file in facts.patch] == ["odd.py"]
    assert told(attempt_rules.suspicious(facts)) == []


def test_a_log_made_to_take_for_ever_does_not(run_folder):
    log = run_folder / "attempts/small/1/stages/agent_run.log"
    log.write_bytes((b"curl git clone " * 600 + b"\n") * 500)
    assert told(attempt_rules.fetched_upstream(attempt_of(run_folder))) == []
