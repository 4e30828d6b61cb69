import json

from agentbench.scoring import FailureReason


def test_a_reason_is_explained_on_stdout(cli):
    result = cli("explain", "tests-failed")
    assert (result.code, result.stderr) == (0, "")
    assert "TESTS_FAILED" in result.stdout
    assert result.stdout.endswith("\n")
    assert not result.stdout.endswith("\n\n")


def test_an_exit_code_of_a_stage_is_explained(cli):
    assert "SETUP_TIMEOUT" in cli("explain", "137", "--stage", "setup").stdout


def test_all_reasons_are_listed_as_json(cli):
    listed = json.loads(cli("explain", "--json").stdout)
    assert [each["precedence"] for each in listed] == list(range(1, len(FailureReason) + 1))
    assert {each["name"] for each in listed} == set(FailureReason)
    assert all(isinstance(each["rationale"], str) and each["rationale"] for each in listed)
