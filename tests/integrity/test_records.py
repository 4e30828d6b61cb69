from random import Random

from agentbench.integrity.expectation_changes.engine import rewrite_tests, shorten
from agentbench.integrity.records import RewrittenTestFile


def test_a_mutation_is_written_and_read_back():
    text = "def test_a():\n    assert f() == '\\x1b[31m\\ud800'\ndef test_b(): f()\n"
    mutation = rewrite_tests(text, "t.py", ["t.py::test_a", "t.py::test_b"], Random(1))
    assert RewrittenTestFile.model_validate_json(mutation.model_dump_json()) == mutation
    assert len(mutation.changed) == len(mutation.weakly_controlled) == 1


def test_what_is_shown_is_bounded_and_harmless():
    assert shorten("a" * 500) == "a" * 199 + "…"
    assert shorten("\x1b[2J") == "\\x1b[2J"
    assert shorten("日本") == "日本"
