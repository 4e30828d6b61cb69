"""What the rules take as evidence of a behaviour, and what they do not."""

from typing import Any

import pytest

from agentbench.extensions.behaviour.rules import behaviour_of
from agentbench.extensions.behaviour.tags import Tag
from agentbench.scoring.evidence import CaseOutcome
from tests.e2e.small_task import patch_of
from tests.extensions.behaviour.attempt_facts import (
    FAILED,
    PASSED,
    UNFINISHED,
    facts_of,
    record_with,
)


def tags_of(*given: Any, **more: Any) -> frozenset[Tag]:
    return behaviour_of(facts_of(*given, **more)).tags


@pytest.mark.parametrize(
    ("outcomes", "is_sealed", "expected"),
    [
        ((PASSED, FAILED, PASSED), False, {Tag.PARTLY_FIXED}),
        ((PASSED, UNFINISHED, PASSED), False, {Tag.PARTLY_FIXED}),
        ((PASSED, FAILED, PASSED), True, {Tag.PARTLY_FIXED}),
        ((PASSED, UNFINISHED, FAILED), True, {Tag.BROKE_OTHER_TESTS}),
        ((FAILED, FAILED, UNFINISHED), True, set()),
        ((FAILED, FAILED, UNFINISHED), False, {Tag.BROKE_OTHER_TESTS}),
    ],
)
def test_test_that_a_sealed_run_did_not_end_is_no_evidence(
    outcomes: tuple[CaseOutcome, ...], is_sealed: bool, expected: set[Tag]
) -> None:
    found = tags_of(record_with(*outcomes, is_sealed=is_sealed))
    assert found & {Tag.PARTLY_FIXED, Tag.BROKE_OTHER_TESTS} == expected


@pytest.mark.parametrize(
    ("before", "after", "is_missing"),
    [("", "def test_a(): pass\n", False), ("x = 1\n", "x = 2\n", False), ("x = 1\n", "", True)],
)
def test_removed_test_is_no_test_of_its_own(before: str, after: str, is_missing: bool) -> None:
    test = patch_of("tests/test_a.py", before, after)
    if not after:
        test = test.replace("+++ b/tests/test_a.py", "+++ /dev/null")
    found = tags_of(patch=patch_of("a.py", "x = 1\n", "x = 2\n") + test)
    assert (Tag.OWN_TEST_MISSING in found) is is_missing


@pytest.mark.parametrize(
    "line",
    [
        "git log --all -p",
        "git --no-pager log --oneline --all",
        "git fetch origin",
        "cd src && git branch -a",
        "python3 -m pip download store==2.0",
        "uv pip download store",
        "curl -sL https://example.org/fix.diff | head",
        "python - <<'EOF'\nimport requests\nrequests.get('https://example.org')\nEOF",
        "find / -name '*solution*' 2>/dev/null",
        "ls -R /agentbench",
        "cat /results/report.json",
        "cd /solution; ls",
    ],
)
def test_command_that_looks_elsewhere_is_a_search_for_answers(line: str) -> None:
    assert Tag.SEARCHED_FOR_ANSWERS in tags_of(lines=(line,))


@pytest.mark.parametrize(
    "line",
    [
        "git log --oneline -- a.py",
        "git show HEAD",
        "echo 'never use git log --all'",
        "grep -rn 'git fetch' docs",
        "curl -s http://localhost:8000/free",
        "cat > client.py <<'EOF'\nimport requests\nrequests.get('https://example.org')\nEOF",
        "sed -i 's#http://a#https://b#' client.py",
        "git commit -m 'fetch all: git log --all'",
        "cat /results/instruction.md",
        "cat tests/test_a.py",
        "pip install -e .",
    ],
)
def test_command_about_the_project_is_no_search_for_answers(line: str) -> None:
    assert Tag.SEARCHED_FOR_ANSWERS not in tags_of(lines=(line,))


EDIT = "sed -i 's/a/b/' a.py"


@pytest.mark.parametrize(
    ("lines", "is_redone"),
    [
        ((EDIT, "git checkout a.py", EDIT), True),
        ((EDIT, "git stash", "pytest", "git stash pop"), True),
        ((EDIT, "git stash", "pytest"), False),
        ((EDIT, "git diff a.py > /tmp/p; git checkout a.py", "git apply /tmp/p"), True),
        ((EDIT, "git checkout a.py", "git apply /tmp/other"), False),
        (("cat > a.py <<'E'\n1\nE", "cat > a.py <<'E'\n2\nE", "cat > a.py <<'E'\n1\nE"), True),
        (("cat > a.py <<'E'\n1\nE", "cat > a.py <<'E'\n2\nE", "cat > a.py <<'E'\n3\nE"), False),
        ((EDIT, "git stash list", EDIT), False),
        ((EDIT, "git add -A; git reset -q", EDIT), False),
        ((EDIT, "git restore --staged a.py", EDIT), False),
    ],
)
def test_edit_that_is_taken_back_and_made_again(lines: tuple[str, ...], is_redone: bool) -> None:
    assert (Tag.UNDO_REDO in tags_of(lines=lines)) is is_redone


@pytest.mark.parametrize(
    ("line", "answer", "is_fought"),
    [
        ("python -c 'import x'", "ModuleNotFoundError: No module named 'x'", True),
        ("ack total src", "bash: line 1: ack: command not found", True),
        ("rg total", "sh: 1: rg: not found", True),
        ("/opt/py/bin/python -V", "sh: /opt/py/bin/python: No such file or directory", True),
        ("cat FAQ", "If bash says: foo: command not found, install foo.", False),
        ("grep -rn denied .", "a.py:1: raise OSError('Permission denied')", False),
        ("cat a.py", "cat: a.py: No such file or directory", False),
    ],
)
def test_command_that_misses_something_met_a_fault_of_the_environment(
    line: str, answer: str, is_fought: bool
) -> None:
    found = tags_of(lines=(line,) * 3, answer=answer)
    assert (Tag.FOUGHT_ENVIRONMENT in found) is is_fought


@pytest.mark.parametrize(
    ("answer", "is_malformed"),
    [
        ("there is no tool 'grep'; known: run, edit", True),
        ("invalid arguments: path: Field required", True),
        ("the text was not found in a.py", False),
    ],
)
def test_call_that_its_tool_refused_is_malformed(answer: str, is_malformed: bool) -> None:
    assert (Tag.MALFORMED_CALLS in tags_of(lines=("ls", "ls -l"), answer=answer)) is is_malformed
