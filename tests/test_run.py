"""Failures are repeated once, alone; only what then passes is flaky."""

import textwrap

import pytest

from tests.run import Outcome, Session, skip_reasons

pytestmark = pytest.mark.full

ONCE = """
import os, pathlib
def test_{name}():
    seen = pathlib.Path({folder!r}) / "{name}"
    first = not seen.exists()
    seen.touch()
    {body}
"""


@pytest.fixture
def outcome_of(tmp_path, capfd):
    """Runs tests whose bodies know whether this is the first time; two workers, then alone."""

    def run(*options, **bodies) -> Outcome:
        project, output = tmp_path / "project", tmp_path / "output"
        project.mkdir()
        output.mkdir()
        (project / "pytest.ini").write_text("[pytest]\n")
        for name, body in bodies.items():
            source = ONCE.format(name=name, folder=str(tmp_path), body=body)
            (project / f"test_{name}.py").write_text(textwrap.dedent(source))
        outcome = Session(root=project, output=output).run(["-n2", *options], [])
        assert "test session starts" in capfd.readouterr().out  # shown as well as kept
        return outcome

    return run


def test_a_test_that_passes_alone_is_flaky_and_both_outputs_are_kept(outcome_of, tmp_path):
    """So is one that hangs: it is ended, shown and repeated."""
    outcome = outcome_of(
        "--timeout=5",
        good="pass",
        chancy="assert not first, 'only the first time'",
        hanging="first and __import__('time').sleep(1000)",
    )
    flaky = ("test_chancy.py::test_chancy", "test_hanging.py::test_hanging")
    assert outcome == Outcome(code=0, flaky=flaky)
    shown = (tmp_path / "output" / "parallel.txt").read_text()
    assert "only the first time" in shown
    assert "sleep" in shown
    assert "2 passed" in (tmp_path / "output" / "alone.txt").read_text()


def test_a_test_that_fails_again_fails_the_run_and_what_was_skipped_is_counted(
    outcome_of, tmp_path
):
    skipping = "__import__('pytest').skip('no engine')"
    expected = "__import__('pytest').xfail('a known gap')"
    outcome = outcome_of(
        bad="assert False",
        chancy="assert not first",
        first_one=skipping,
        second_one=skipping,
        known=expected,
    )
    assert outcome.code == 1
    assert outcome.flaky == ("test_chancy.py::test_chancy",)
    assert outcome.failing == ("test_bad.py::test_bad",)
    assert skip_reasons(tmp_path / "output" / "parallel.xml") == {
        "skipped: no engine": 2,
        "failed as expected: a known gap": 1,
    }


def test_a_test_that_is_skipped_when_it_is_repeated_has_not_passed(outcome_of):
    skipping = "assert not first; __import__('pytest').skip('not now')"
    outcome = outcome_of(chancy=skipping)
    assert (outcome.code, outcome.flaky) == (1, ())
    assert outcome.failing == ("test_chancy.py::test_chancy",)


def test_a_test_that_takes_its_worker_with_it_is_repeated_too(outcome_of):
    outcome = outcome_of(deadly="first and os._exit(3)", good="pass")
    assert outcome == Outcome(code=0, flaky=("test_deadly.py::test_deadly",))


def test_nothing_is_repeated_after_a_module_that_cannot_be_read(outcome_of):
    outcome = outcome_of(good="pass", broken="this is no Python")
    assert outcome.code not in (0, 5)
    assert outcome.flaky == ()


def test_a_run_without_failures_is_not_repeated(outcome_of, tmp_path):
    assert outcome_of(good="pass") == Outcome(code=0)
    assert not (tmp_path / "output" / "alone.txt").exists()
