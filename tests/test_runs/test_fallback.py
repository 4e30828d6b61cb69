import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.test_runs.fallback import (
    JUNIT_LIMIT,
    collection_fact,
    error_line,
    read_json_report,
    read_junit,
    read_text,
    skip_reason,
)
from agentbench.test_runs.model import case_result


@pytest.mark.parametrize(
    ("longrepr", "line"),
    [
        ("", ""),
        ("\n \n", ""),
        ("only this", "only this"),
        ("a.py:1: in f\nE   ValueError: x\nE   more\n\na.py:1: ValueError", "more"),
        ("Traceback\nSyntaxError: bad", "SyntaxError: bad"),
    ],
)
def test_the_line_that_names_the_error_is_found(longrepr, line):
    assert error_line(longrepr) == line


@pytest.mark.parametrize(
    ("longrepr", "reason"),
    [
        ("('a.py', 3, 'Skipped: it, is (so)')", "it, is (so)"),
        ("""('a.py', 3, "Skipped: 'quoted'")""", "'quoted'"),
        ("('a.py', 3, 4)", "4"),
        ("('a.py', 3)", "('a.py', 3)"),
        ("7", "7"),
        ("no tuple", "no tuple"),
        ("(" * 5000, "(" * 5000),
        ("\x00", "\x00"),
    ],
)
def test_the_reason_of_a_skip_is_taken_out_of_the_printed_tuple(longrepr, reason):
    assert skip_reason(longrepr) == reason


JUNIT = """<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest">
<testcase classname="t.test_a" file="t/test_a.py" line="1" name="test_ok" time="0.25" />
<testcase classname="t.test_a.TestX" file="t/test_a.py" name="test_bad[a::b]" time="x">
<failure message="AssertionError: x">long &lt;text&gt;</failure></testcase>
<testcase classname="t.test_a" file="t/test_a.py" name="test_err"><error message="m">tb</error>
</testcase>
<testcase classname="t.test_a" file="t/test_a.py" name="test_skip">
<skipped type="pytest.skip" message="why">t/test_a.py:3: why</skipped></testcase>
<testcase classname="t.test_a" file="t/test_a.py" name="test_xf">
<skipped type="pytest.xfail" message="known" /></testcase>
<testcase classname="" name="t.test_b" file="t/test_b.py">
<error message="collection failure">E  ImportError: no</error></testcase>
<testcase classname="" name="t.test_c" file="t/test_c.py">
<skipped message="collection skipped">('t/test_c.py', 2, 'Skipped: whole')</skipped></testcase>
<testcase />
</testsuite></testsuites>"""

TEXT = """junk
=========== short test summary info ===========
PASSED fake.py::test_forged
=================== short test summary info ====================
PASSED t/test_a.py::test_x[a::b]
FAILED t/test_a.py::test_bad - AssertionError: x - y
ERROR t/test_a.py::test_err - ValueError: bad
ERROR t/test_b.py - ImportError: no
ERROR t/test_c.py
XFAIL t/test_a.py::test_xf - known
XPASS t/test_a.py::test_xp
SKIPPED [2] t/test_a.py:3: because
\x1b[31mFAILED\x1b[0m t/test_a.py::\x1b[1mtest_coloured\x1b[0m
======= 2 failed, 1 passed in 0.07s ========
"""


def test_junit_is_read_with_node_ids_as_pytest_prints_them():
    session = read_junit(JUNIT)
    described = {case.node_id: (case.outcome, case.message) for case in session.results.values()}
    assert described == {
        "t/test_a.py::test_ok": ("passed", None),
        "t/test_a.py::TestX::test_bad[a::b]": ("failed", "AssertionError: x"),
        "t/test_a.py::test_err": ("error", "m"),
        "t/test_a.py::test_skip": ("skipped", "why"),
        "t/test_a.py::test_xf": ("xfailed", "known"),
        "t/test_c.py": ("skipped", "whole"),
        "unknown::": ("passed", None),
    }
    assert session.results["t/test_a.py::test_ok"].duration == 0.25
    assert session.results["t/test_a.py::TestX::test_bad[a::b]"].traceback == "long <text>"
    assert [(e.file, e.message) for e in session.collection_errors] == [
        ("t/test_b.py", "ImportError: no")
    ]


@pytest.mark.parametrize(
    "xml",
    [
        "",
        "<testsuite",
        '<!DOCTYPE x [<!ENTITY a "b">]><testsuite>&a;</testsuite>',
        " " * (JUNIT_LIMIT + 1),
        "<a>" * 100,
    ],
)
def test_malformed_or_typed_junit_is_refused(xml):
    assert read_junit(xml) is None


def test_the_last_short_summary_is_read_and_nothing_before_it():
    session = read_text(TEXT)
    assert {c.node_id: c.outcome for c in session.results.values()} == {
        "t/test_a.py::test_x[a::b]": "passed",
        "t/test_a.py::test_bad": "failed",
        "t/test_a.py::test_err": "error",
        "t/test_a.py::test_xf": "xfailed",
        "t/test_a.py::test_xp": "xpassed",
        "t/test_a.py::test_coloured": "failed",
    }
    assert session.results["t/test_a.py::test_bad"].message == "AssertionError: x - y"
    assert [(e.file, e.message) for e in session.collection_errors] == [
        ("t/test_b.py", "ImportError: no"),
        ("t/test_c.py", ""),
    ]
    assert not session.finished


def test_text_without_a_summary_has_no_results():
    assert read_text("==== 3 passed in 0.01s ====") is None


@given(st.text(), st.text())
def test_any_text_is_read(name, rest):
    read_text(f"=== short test summary info ===\nFAILED {name} - {rest}\n{rest}")
    read_junit(f"<testsuite><testcase name='x' file='y'/>{name}</testsuite>")


ROOT = "/workspace"
FRAMES = """\
../opt/venv/lib/python3.11/site-packages/_pytest/python.py:498: in importtestmodule
    mod = import_path(
tests/test_m.py:1: in <module>
    import model
"""
NATIVE = """\
Traceback (most recent call last):
  File "/workspace/conftest.py", line 1, in <module>
    import model
  File "/workspace/pkg/model.py", line 7, in <module>
    y = undefined_name
        ^^^^^^^^^^^^^^
NameError: name 'undefined_name' is not defined
"""


@pytest.mark.parametrize(
    ("message", "traceback", "described"),
    [
        (
            "SyntaxError: invalid syntax",
            f'{FRAMES}E     File "/workspace/model.py", line 42\n'
            "E       def total(:\nE                 ^\nE   SyntaxError: invalid syntax",
            ("SyntaxError", "model.py", 42, "invalid syntax"),
        ),
        (
            "ModuleNotFoundError: No module named 'nope'",
            f"{FRAMES}model.py:2: in <module>\n    import nope\n"
            "E   ModuleNotFoundError: No module named 'nope'",
            ("ModuleNotFoundError", "model.py", 2, "No module named 'nope'"),
        ),
        (
            "ImportError: cannot import name 'gone' from 'model' (/workspace/model.py)",
            f"{FRAMES}E   ImportError: cannot import name 'gone' (/workspace/model.py)",
            ("ImportError", "tests/test_m.py", 1, "cannot import name 'gone' (model.py)"),
        ),
        (
            "NameError: name 'undefined_name' is not defined",
            NATIVE,
            ("NameError", "pkg/model.py", 7, "name 'undefined_name' is not defined"),
        ),
        (
            "SyntaxError: '(' was never closed (model.py, line 3)",
            'File "/workspace/model.py", line 3\n    x = (\n        ^\n'
            "SyntaxError: '(' was never closed",
            ("SyntaxError", "model.py", 3, "'(' was never closed"),
        ),
        (
            "KeyError: 'x'",  # as --tb=no leaves it
            "\n/workspace/model.py:4: ",
            ("KeyError", "model.py", 4, "'x'"),
        ),
        (
            "odd.OwnError",
            "/usr/lib/python3.11/json/decoder.py:355: OwnError\n../elsewhere.py:2: in <module>",
            ("OwnError", "", None, ""),
        ),
        ("", "", ("", "", None, "")),
        ("no exception at all", "nothing:\nof:1:use", ("", "", None, "no exception at all")),
    ],
)  # fmt: skip
def test_the_projects_last_line_in_a_traceback_is_to_blame(message, traceback, described):
    fact = collection_fact("tests/test_m.py", message, traceback, ROOT)
    assert fact.file == "tests/test_m.py"
    assert (fact.error, fact.path, fact.line, fact.message) == described


def test_texts_of_code_under_test_are_bounded():
    fact = collection_fact("t.py", "E" * 10_000 + ": " + "m" * 10_000, "a:1: \n" * 100_000, "")
    assert max(map(len, (fact.error, fact.path, fact.message))) < 400


def stage(outcome="passed", **more):
    return {"outcome": outcome, "duration": 0.25, **more}


def case_of(test):
    session = read_json_report({"tests": [{"nodeid": "a.py::t", **test}]})
    (node_id, phases), *_ = session.phases.items()
    return case_result(node_id, phases, session.durations[node_id])


@pytest.mark.parametrize(
    ("stages", "outcome", "message", "traceback"),
    [
        ({"setup": stage(), "call": stage(), "teardown": stage()}, "passed", None, None),
        ({"setup": stage(), "teardown": stage()}, "unfinished", "the run ended before", None),
        (
            {"setup": stage("skipped", longrepr="('a', 1, 'Skipped: so')"), "teardown": stage()},
            "skipped",
            "so",
            None,
        ),
        (
            {"setup": stage("failed", crash={"message": "ValueError: x"}, longrepr="long")},
            "error",
            "ValueError: x",
            "long",
        ),
        (
            {"setup": stage(), "call": stage("failed", longrepr="E  Boom: x", crash=3)},
            "failed",
            "Boom: x",
            "E  Boom: x",
        ),
        ({"???": stage("failed", longrepr="worker crashed")}, "failed", "worker", "worker crashed"),
    ],
)
def test_stages_of_a_reported_test_decide_its_outcome(stages, outcome, message, traceback):
    case = case_of({"outcome": outcome, **stages})
    assert case.outcome == outcome
    assert (case.message or "").startswith(message or "")
    assert case.traceback == traceback
    assert case.duration == 0.25 * len(stages)


@pytest.mark.parametrize(("word", "call"), [("xfailed", "skipped"), ("xpassed", "passed")])
def test_expected_failures_are_xfailed(word, call):
    stages = {"setup": stage(), "call": stage(call), "teardown": stage()}
    assert case_of({"outcome": word, **stages}).outcome == word


def test_failed_and_skipped_collectors_are_reported():
    report = {
        "collectors": [
            {"nodeid": "a.py", "outcome": "failed", "longrepr": "E  ImportError: no"},
            {"nodeid": "b.py", "outcome": "skipped", "longrepr": "('b.py', 1, 'Skipped: no')"},
            {"nodeid": "", "outcome": "passed"},
            {"nodeid": 3, "outcome": "failed"},
        ]
    }
    session = read_json_report(report)
    assert [(e.file, e.message) for e in session.collection_errors] == [
        ("a.py", "ImportError: no"),
        ("unknown", ""),
    ]
    assert session.results["b.py"].message == "no"


def test_deselected_tests_are_not_collected():
    session = read_json_report({"exitcode": 0, "summary": {"collected": 5, "deselected": 2}})
    assert (session.collected_count, session.deselected) == (3, 2)
    assert (session.finished, session.exit_status) == (True, 0)


def test_a_report_without_exit_code_was_not_finished():
    session = read_json_report({"summary": [], "collectors": 1, "tests": {"a": 1}})
    assert not session.finished
    assert session.collected_count is None
