import pytest

from agentbench.cli.options import TaskSelection, parse_jobs
from agentbench.core.host import default_cache_dir
from agentbench.errors import InputError, UsageError


def chosen(*paths, **more):
    return [task.id for task in TaskSelection(tasks=paths, **more).load(default_cache_dir())]


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        ({}, ["first", "second"]),
        ({"filter_glob": "f*"}, ["first"]),
        ({"filter_glob": "*"}, ["first", "second"]),
        ({"tag": "unfixed"}, ["second"]),
        ({"limit": 1}, ["first"]),
        ({"limit": 9}, ["first", "second"]),
        ({"filter_glob": "s*", "tag": "unfixed", "limit": 1}, ["second"]),
    ],
)
def test_tasks_are_narrowed_down(tasks, given, ids):
    assert chosen(tasks, **given) == ids


@pytest.mark.parametrize(
    "given", [{"filter_glob": "First"}, {"tag": "unfix"}, {"filter_glob": "f*", "tag": "x"}]
)
def test_when_none_is_left_it_says_which_there_are(tasks, given):
    with pytest.raises(InputError, match="known tasks: first, second"):
        chosen(tasks, **given)


def test_a_suite_file_names_its_tasks(tasks):
    (tasks / "suite.toml").write_text('tasks = ["sec*"]\n')
    assert chosen(tasks / "suite.toml") == ["second"]


def test_what_looks_odd_on_the_way_is_said_on_stderr(tasks, tmp_path, capsys):
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "first").symlink_to(tasks / "first")
    (tmp_path / "all" / "notes").mkdir()
    assert chosen(tmp_path / "all") == ["first"]
    said = capsys.readouterr()
    assert said.err == f"warning: {tmp_path}/all/notes: contains no task.toml, skipped\n"
    assert said.out == ""


@pytest.mark.parametrize(("text", "jobs"), [("auto", None), ("1", 1), ("16", 16)])
def test_jobs_are_a_number_or_left_to_us(text, jobs):
    assert parse_jobs(text) == jobs


@pytest.mark.parametrize("text", ["0", "-1", "two", "", "1.5", "\u0663", "AUTO"])
def test_other_jobs_are_wrong_usage(text):
    with pytest.raises(UsageError, match="--jobs: expected auto or a number above 0"):
        parse_jobs(text)
