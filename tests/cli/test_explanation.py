import pytest

from agentbench.cli.show import explanation
from agentbench.errors import UsageError
from agentbench.report.taxonomy_page import explain_exit_code, explain_reason
from agentbench.taxonomy import FailureReason


def test_without_a_question_all_reasons_are_listed_by_precedence():
    lines = explanation(None, None).splitlines()
    assert len(lines) == len(FailureReason)
    assert [int(line.split()[0]) for line in lines] == sorted(r.precedence for r in FailureReason)
    assert {line.split()[1] for line in lines} == set(FailureReason)


@pytest.mark.parametrize("reason", FailureReason)
def test_a_reason_is_found_however_it_is_written(reason):
    expected = explain_reason(reason)
    for text in (reason.value, reason.value.lower(), reason.value.lower().replace("_", "-")):
        assert explanation(text, None) == expected


@pytest.mark.parametrize("code", ["0", "137", "-9", "99999"])
def test_a_number_is_an_exit_code(code):
    assert explanation(code, "setup") == explain_exit_code(int(code), "setup")
    assert explanation(code, None) == explain_exit_code(int(code), None)


@pytest.mark.parametrize("what", ["1.5", "123456", "", "tests failed", "\u0663"])
def test_anything_else_is_wrong_usage(what):
    with pytest.raises(UsageError, match="neither an exit code nor a reason"):
        explanation(what, None)


def test_a_stage_that_there_is_not_is_wrong_usage():
    with pytest.raises(UsageError, match="--stage: 'lunch' is not a stage; expected git_clone, "):
        explanation("1", "lunch")
