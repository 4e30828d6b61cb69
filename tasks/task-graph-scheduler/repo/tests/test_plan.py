import pytest

from taskplan import Outcome, Plan
from taskplan.__main__ import main
from taskplan.reading import PlanSyntaxError

TEXT = """\
# fetch and build
fetch
compile (30): fetch
docs (12): fetch
test (45): compile
publish: test docs
"""


def test_the_example_of_the_readme():
    plan = Plan.from_text(TEXT)
    assert plan.order() == ["fetch", "compile", "docs", "test", "publish"]
    assert plan.waves() == [["fetch"], ["compile", "docs"], ["test"], ["publish"]]
    assert plan.critical_path() == (77, ["fetch", "compile", "test", "publish"])
    assert plan.affected("docs") == ["docs", "publish"]


def test_a_reload_says_what_it_touched():
    plan = Plan.from_text(TEXT)
    assert plan.reload(TEXT) == []
    assert plan.reload(TEXT.replace("(12)", "(15)") + "announce: publish\n") == ["announce", "docs"]
    assert plan.order()[-1] == "announce"


def test_a_reload_drops_tasks_and_dependencies():
    plan = Plan.from_text(TEXT)
    plan.reload("fetch\ncompile: fetch\npublish: compile\n")
    assert plan.order() == ["fetch", "compile", "publish"]
    plan.reload("fetch: compile\ncompile\npublish: compile\n")
    assert plan.order() == ["compile", "fetch", "publish"]


@pytest.mark.parametrize(
    ("text", "message"),
    [("a b c", "line 1: cannot read 'a b c'"), ("a\n\na: b", "line 3: a is there twice"), ("a (x)", "line 1: cannot read")],
    ids=["words", "twice", "cost"],
)
def test_a_line_that_cannot_be_read_is_named(text, message):
    with pytest.raises(PlanSyntaxError, match=message.replace("(", r"\(")):
        Plan.from_text(text)


def test_actions_are_called_in_order():
    called = []
    outcomes = Plan.from_text(TEXT).run(called.append)
    assert called == ["fetch", "compile", "docs", "test", "publish"]
    assert set(outcomes.values()) == {Outcome.DONE}


def test_what_depends_on_a_failed_task_is_skipped():
    def action(name):
        if name == "compile":
            raise RuntimeError("no compiler")

    outcomes = {name: outcome.value for name, outcome in Plan.from_text(TEXT).run(action).items()}
    assert outcomes == {"fetch": "done", "compile": "failed", "docs": "done", "test": "skipped", "publish": "skipped"}


def test_the_command_prints_waves(tmp_path, capsys):
    path = tmp_path / "build.plan"
    path.write_text(TEXT, encoding="utf-8")
    assert main([str(path), "--waves"]) == 0
    assert capsys.readouterr().out == "fetch\ncompile docs\ntest\npublish\n"


def test_the_command_reports_a_cycle(tmp_path, capsys):
    path = tmp_path / "build.plan"
    path.write_text("a: b\nb: a\n", encoding="utf-8")
    assert main([str(path)]) == 1
    assert capsys.readouterr().err == "taskplan: a cycle: a -> b -> a\n"
