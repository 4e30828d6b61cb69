import signal
from datetime import timedelta
from pathlib import PurePosixPath

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.scoring.evidence import (
    CommandResult,
    Ending,
    PytestOutcome,
    ReportSource,
    ReportTrust,
)
from agentbench.test_runs.model import PytestResult, PytestSummary
from agentbench.test_runs.runner import TestRun
from agentbench.test_tools.answers import answer_to_error, invalid_arguments
from agentbench.test_tools.envelope import (
    HIDDEN,
    SERIALIZED_FIELDS,
    PathMask,
    PytestAnswer,
    message_of,
    signal_name,
)

MASK = PathMask(PurePosixPath("/srv/proj"), known=["/home/Jane Doe"])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rootdir: /srv/proj", "rootdir: ."),
        ("rootdir: /srv/proj, configfile: x", "rootdir: ., configfile: x"),
        ("/srv/proj/tests/test_a.py:3: E", "tests/test_a.py:3: E"),
        ("in '/srv/proj/'", "in '.'"),
        ("file:///srv/proj/a.py", "file:a.py"),
        ("/srv/proj2/x", HIDDEN),
        ("/srv/proj.bak/x", HIDDEN),
        ("open('/etc/passwd')", f"open('{HIDDEN}')"),
        ("/tmp/pytest-of-me/x0:", f"{HIDDEN}:"),
        ("--x=/var/lib/y", f"--x={HIDDEN}"),
        ("file:///etc/passwd", f"file:{HIDDEN}"),
        ("../../usr/share/x.py:12", f"{HIDDEN}:12"),
        ("/home/Jane Doe/notes.txt", HIDDEN),
        ("/usr/lib/python3.11/json/decoder.py:3", f"{HIDDEN}/python3.11/json/decoder.py:3"),
        ("/opt/v/lib/python3.12/site-packages/a/b.py", f"{HIDDEN}/site-packages/a/b.py"),
    ],
)
def test_project_paths_become_relative_and_others_are_masked(text, shown):
    assert MASK.text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "assert 4 / 2 == 2",
        "GET /api/users/3",
        "http://localhost:80/usr/list",
        "a/usr/lib is relative",
        "./tests/test_a.py",
        "tests/usr/lib/x.py::test_y",
        "s3://bucket/home/x",
    ],
)
def test_other_texts_are_not_masked(text):
    assert MASK.text(text) == text


@given(st.lists(st.sampled_from(["/etc", "/srv/proj", "/x", " ", ":", "'", "..", "a", "\n", "//"])))
def test_path_below_a_system_folder_is_masked_in_any_text(parts):
    shown = MASK.text("".join(parts) + " /etc/shadow")
    assert "/etc/shadow" not in shown


def test_masking_is_idempotent():
    text = "/srv/proj/a.py /etc/x/y ../../usr/z /usr/lib/python3.11/site-packages/q/r.py"
    assert MASK.text(MASK.text(text)) == MASK.text(text)


def test_a_value_is_masked_throughout_but_for_the_ids_of_tests():
    value = {"a": ["/etc/x/y", 3, None], "nodeid": "t.py::t[/etc/x/y]", "b": {"c": "/srv/proj/d"}}
    assert MASK.value(value) == {
        "a": [HIDDEN, 3, None],
        "nodeid": "t.py::t[/etc/x/y]",
        "b": {"c": "d"},
    }


def test_unusual_top_folders_can_be_given():
    mask = PathMask(PurePosixPath("/x/proj"), tops=["vault"])
    assert mask.text("/vault/secret/file and /x/other/file") == f"{HIDDEN} and {HIDDEN}"
    assert MASK.text("/vault/secret/file") == "/vault/secret/file"


def test_every_field_that_the_serializer_shows_is_in_the_envelope():
    shown = {name for name, field in PytestResult.model_fields.items() if not field.exclude}
    assert set(SERIALIZED_FIELDS) == shown


def test_every_outcome_of_a_run_is_an_outcome_of_the_envelope():
    for outcome in PytestOutcome:
        PytestAnswer(status="success", outcome=outcome.value, message="")


@pytest.mark.parametrize(
    "answer", [invalid_arguments(["a"]), answer_to_error("path_outside_root", "a")]
)
def test_answers_fit_the_schema_and_the_schema_is_one(answer):
    jsonschema.Draft202012Validator.check_schema(
        PytestAnswer.model_json_schema(mode="serialization")
    )
    jsonschema.validate(answer, PytestAnswer.model_json_schema(mode="serialization"))


def message(outcome, *, detail=None, spawn_error=None, summary=None, **command):
    result = PytestResult(
        exit_code=command.get("exit_code"),
        summary=summary or PytestSummary(),
        outcome=outcome,
        source=ReportSource.STREAM,
        detail=detail,
        spawn_error=spawn_error,
    )
    ended = CommandResult(
        **{"argv": (), "ending": Ending.EXITED, "duration": timedelta(), **command}
    )
    run = TestRun(command=ended, result=result, trust=ReportTrust.IN_PROCESS_STREAM)
    return message_of(run, 2.0)


@pytest.mark.parametrize(
    ("outcome", "known", "words"),
    [
        ("timeout", {}, "pytest execution exceeded timeout of 2 seconds"),
        ("crash", {"signal": 11}, "pytest subprocess terminated with signal SIGSEGV"),
        ("crash", {"exit_code": 66}, "pytest subprocess terminated with exit code 66"),
        ("crash", {"signal": 63}, "pytest subprocess terminated with signal signal 63"),
        (
            "crash",
            {"ending": Ending.OUT_OF_MEMORY},
            "pytest subprocess terminated with signal SIGKILL (out of memory)",
        ),
        (
            "crash",
            {"ending": Ending.OUT_OF_DISK},
            "pytest subprocess terminated with signal SIGKILL (out of disk)",
        ),
        ("spawn", {"spawn_error": "x"}, "Failed to spawn pytest subprocess: x"),
        ("spawn", {}, "Failed to spawn pytest subprocess: the sandbox was lost"),
        (
            "usage",
            {"stderr": "noise\nERROR: not found: a\n(no match)\n"},
            "pytest execution failed: Invalid pytest arguments: not found: a",
        ),
        ("usage", {}, "pytest execution failed: Invalid pytest arguments"),
        (
            "interrupted",
            {"detail": "KeyboardInterrupt"},
            "pytest execution failed: Test execution was interrupted: KeyboardInterrupt",
        ),
        (
            "pytest_internal",
            {"detail": "Traceback\n  line\nValueError: x\n\n"},
            "pytest execution failed: pytest internal error occurred: ValueError: x",
        ),
        (
            "unverified",
            {"exit_code": 0},
            "pytest execution failed: it exited 0, but no report confirms that",
        ),
        (
            "failed",
            {"summary": PytestSummary(passed=3, failed=1, deselected=2, duration=1.5)},
            "1 failed, 3 passed, 2 deselected in 1.50 s",
        ),
        ("failed", {"summary": PytestSummary(errors=1)}, "1 error in 0.00 s"),
        ("no_tests", {}, "no tests in 0.00 s"),
    ],
)
def test_message_of_each_outcome(outcome, known, words):
    assert message(PytestOutcome(outcome), **known) == words


def test_a_command_that_exited_was_ended_by_no_signal():
    ended = CommandResult(argv=(), ending=Ending.EXITED, exit_code=1, duration=timedelta())
    assert signal_name(ended) is None
    killed = ended.replace(signal=int(signal.SIGKILL))
    assert signal_name(killed) == "SIGKILL"
