from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from agentbench.cli.options import TaskSelection, expand_groups, parse_jobs
from agentbench.core.host import default_cache_dir
from agentbench.errors import InputError, UsageError


def test_every_back_end_can_be_asked_for_and_auto(cli):
    assert "<auto|docker|bubblewrap|process>" in cli("run", "--help").stdout


def test_durations_have_one_form_and_old_ones_are_accepted(cli, tmp_path):
    for text in ("90s", "2h", "90", "1.5"):
        result = cli("run", tmp_path, "--attempt-timeout", text, "--max-outage", text)
        assert result.code == 65, result.stderr  # no task is there, and the option was fine


def test_rates_have_one_form_and_old_ones_are_accepted(cli, tmp_path):
    for option, texts in (("--fail-under", ("80%", "0.8")), ("--min-strength", ("90%", "90"))):
        for text in texts:
            command = "run" if option == "--fail-under" else "validate"
            assert cli(command, tmp_path, option, text).code == 65


@dataclass(frozen=True, kw_only=True)
class Group:
    many: Annotated[int, typer.Option("--many", help="How many.")] = 2
    loud: Annotated[bool, typer.Option("--loud")] = False


def called(*arguments: str) -> list[object]:
    got: list[object] = []

    @expand_groups
    def command(
        name: Annotated[str, typer.Argument()],
        group: Group = Group(),
        last: Annotated[int, typer.Option("--last")] = 1,
    ) -> None:
        """Do something."""
        got.extend((name, group, last))

    app = typer.Typer(add_completion=False)
    app.command()(command)
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    return got or [done.output]


def test_the_fields_are_options_and_the_command_gets_the_group():
    assert called("x") == ["x", Group(), 1]
    assert called("x", "--many", "3", "--loud", "--last", "5") == [
        "x",
        Group(many=3, loud=True),
        5,
    ]


def test_help_lists_them_in_the_place_of_the_group():
    (result,) = called("--help")
    assert isinstance(result, str)
    assert "Do something." in result
    assert result.index("--many") < result.index("--loud") < result.index("--last")


def chosen(*paths, **more):
    return [task.id for task in TaskSelection(tasks=paths, **more).load(default_cache_dir())]


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        ({}, ["first", "second"]),
        ({"filter_globs": ["f*"]}, ["first"]),
        ({"filter_globs": ["*"]}, ["first", "second"]),
        ({"tag": "unfixed"}, ["second"]),
        ({"filter_globs": ["f*", "s*"]}, ["first", "second"]),
        ({"filter_globs": ["*"], "exclude": ["f*"]}, ["second"]),
        ({"sample": 9}, ["first", "second"]),
        ({"limit": 1}, ["first"]),
        ({"limit": 9}, ["first", "second"]),
        ({"filter_globs": ["s*"], "tag": "unfixed", "limit": 1}, ["second"]),
    ],
)
def test_tasks_are_narrowed_down(tasks, given, ids):
    assert chosen(tasks, **given) == ids


@pytest.mark.parametrize(
    "given", [{"filter_globs": ["First"]}, {"tag": "unfix"}, {"filter_globs": ["f*"], "tag": "x"}]
)
def test_when_none_is_left_it_says_which_there_are(tasks, given):
    with pytest.raises(InputError, match="known tasks: first, second"):
        chosen(tasks, **given)


def test_a_sample_is_the_same_for_the_same_seed(tasks, capsys):
    drawn = {seed: chosen(tasks, sample=1, sample_seed=seed) for seed in range(20)}
    assert set(map(tuple, drawn.values())) == {("first",), ("second",)}
    assert drawn == {seed: chosen(tasks, sample=1, sample_seed=seed) for seed in range(20)}
    assert "sample: 1 of 2 tasks (seed 7)\n" in capsys.readouterr().err
    with pytest.raises(UsageError, match="--sample and --limit contradict"):
        chosen(tasks, sample=1, limit=1)


def test_a_suite_file_names_its_tasks(tasks):
    (tasks / "suite.toml").write_text('tasks = ["sec*"]\n')
    assert chosen(tasks / "suite.toml") == ["second"]


def test_what_looks_odd_on_the_way_is_said_on_stderr(tasks, tmp_path, capsys):
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "first").symlink_to(tasks / "first")
    (tmp_path / "all" / "notes").mkdir()
    assert chosen(tmp_path / "all") == ["first"]
    result = capsys.readouterr()
    assert result.err == f"warning: {tmp_path}/all/notes: contains no task.toml, skipped\n"
    assert result.out == ""


@pytest.mark.parametrize(("text", "jobs"), [("auto", None), ("1", 1), ("16", 16)])
def test_jobs_are_a_number_or_left_to_us(text, jobs):
    assert parse_jobs(text) == jobs


@pytest.mark.parametrize("text", ["0", "-1", "two", "", "1.5", "\u0663", "AUTO"])
def test_other_jobs_are_wrong_usage(text):
    with pytest.raises(UsageError, match="--jobs: expected auto or a number above 0"):
        parse_jobs(text)
