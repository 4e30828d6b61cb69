import io
import json

import pytest

from agentbench.test_runs.model import PASSED_AT_ONCE
from agentbench.test_runs.stream import FORGED, LINE_LIMIT, lines_of, read_stream


def lines(*records):
    return [json.dumps({"n": number, **record}) + "\n" for number, record in enumerate(records)]


def phases(node_id, outcome="passed"):
    words = (("setup", "passed"), ("call", outcome), ("teardown", "passed"))
    return [
        {"kind": "phase", "id": node_id, "when": when, "outcome": word, "duration": 0.5}
        for when, word in words
    ]


WHOLE = [
    {"kind": "start", "format": 1, "pytest": "9.0", "python": "3.11.1", "in_project": False},
    {"kind": "collected", "ids": ["a.py::t"]},
    {"kind": "collection_finish", "deselected": 2},
    {"kind": "begin", "id": "a.py::t"},
    *phases("a.py::t"),
    {"kind": "finish", "exit": 0, "duration": 2.5},
    {"kind": "exit", "code": 0},
]


def test_a_whole_stream_is_read():
    session = read_stream(lines(*WHOLE))
    assert (session.started, session.collection_finished, session.finished) == (True, True, True)
    assert session.versions.pytest == "9.0"
    assert list(session.collected) == ["a.py::t"]
    assert session.phases == {"a.py::t": PASSED_AT_ONCE}
    assert session.durations == {"a.py::t": 1.5}
    assert (session.deselected, session.exit_status, session.duration) == (2, 0, 2.5)
    assert session.internals_changed == []


def test_the_torn_last_line_of_a_killed_process_is_passed_over():
    torn = lines(*WHOLE)
    session = read_stream([*torn[:-2], torn[-2][:20]])
    assert not session.finished
    assert session.phases == {"a.py::t": PASSED_AT_ONCE}
    assert session.internals_changed == []


@pytest.mark.parametrize("position", range(len(WHOLE) - 1))
def test_a_missing_line_is_noticed(position):
    changed = lines(*WHOLE)
    del changed[position]
    assert read_stream(changed).internals_changed == [FORGED]


@pytest.mark.parametrize("position", range(1, len(WHOLE)))
def test_a_line_that_is_not_ours_is_noticed(position):
    for foreign in ('{"kind": "phase", "n": 1}\n', "nonsense\n", "[]\n", '{"n": 99}\n'):
        changed = lines(*WHOLE)
        changed.insert(position, foreign)
        assert FORGED in read_stream(changed).internals_changed


def test_a_line_without_end_is_not_parsed():
    giant = '{"n": 0, "kind": "begin", "id": "' + "x" * LINE_LIMIT + '"}\n'
    assert read_stream([giant]).phases == {}


def test_reporters_words_for_the_rest_are_read():
    session = read_stream(
        lines(
            {"kind": "collect_error", "file": "a.py::T", "message": "m", "traceback": "t"},
            {"kind": "collect_error", "file": "", "message": "m2"},
            {"kind": "collect_skip", "file": "b.py", "message": "why"},
            {"kind": "interrupt", "message": "ctrl c"},
            {"kind": "internal_error", "message": "later"},
            {"kind": "changed", "names": ["x.y", 3]},
            {"kind": "subtest", "id": "a.py::t", "when": "call", "outcome": "failed"},
            {"kind": "phase", "id": "a.py::x", "when": "call", "outcome": "passed", "xfail": ""},
            {"kind": "spawn", "error": "no pytest"},
            {"kind": "never heard of"},
            {"kind": 7},
        )
    )
    assert [error.file for error in session.collection_errors] == ["a.py", "unknown"]
    assert session.results["b.py"].message == "why"
    assert session.detail == "ctrl c"
    assert session.internals_changed == ["x.y", ""]
    assert session.phases["a.py::t"][0].is_subtest
    assert session.phases["a.py::x"][0].expected_to_fail
    assert session.spawn_error == "no pytest"


def test_spawn_record_after_the_start_is_ignored():
    session = read_stream(lines(*WHOLE, {"kind": "spawn", "error": "no pytest"}))
    assert session.spawn_error is None


def test_wrong_types_count_as_missing():
    session = read_stream(
        lines(
            {"kind": "collected", "ids": 3},
            {"kind": "collection_finish", "deselected": "many"},
            {"kind": "changed", "names": None},
            {"kind": "finish", "exit": "0", "duration": []},
            {"kind": "phase"},
        )
    )
    assert session.collected == {}
    assert session.deselected == 0
    assert session.exit_status is None
    assert session.phases[""][0].outcome == "failed"


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\r\nb\u2028c\n\nd", "\n"])
def test_nothing_but_a_newline_ends_a_line(text):
    assert list(lines_of(text)) == list(io.StringIO(text, newline="\n"))
