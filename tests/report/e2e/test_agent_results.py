"""Different agents are never counted together, in no report."""

import csv
import io
import json

import jsonschema
import pytest

from agentbench.report.json_documents import render_schemas
from agentbench.report.leaderboard import Entrant, label_runs, results_by_agent
from agentbench.runs.store.configuration import TaskEntry
from agentbench.runs.store.store import RunStore
from tests.cli.conftest import call
from tests.report.several import attempts
from tests.runs.records import configuration, failed, resolved

MADE = {"r": resolved, "f": failed}


def entrant(name, *tasks, base_url=None, agent_command=None, **more):
    return Entrant(
        name=name,
        attempts=attempts(name, *tasks, **more),
        base_url=base_url,
        agent_command=agent_command,
    )


def told(*entrants):
    return [
        (result.label, result.summary.overall.resolved, result.summary.overall.total)
        for result in results_by_agent(entrants)
    ]


def test_runs_of_one_agent_model_and_task_set_are_more_attempts_of_one_thing():
    (result,) = results_by_agent([entrant("one", "r", "f"), entrant("two", "r", "r")])
    assert (result.label, result.runs) == ("oracle", ("one", "two"))
    assert str(result.summary.overall).startswith("3/4")
    assert [rates.k for rates in result.summary.passes] == [1, 2]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"agent": "llm"}, {"agent": "codex"}),
        ({"model": "openai/a"}, {"model": "openai/b"}),
        ({"model": "openai/a"}, {"model": None}),
        ({"task_digest": "old"}, {"task_digest": "new"}),
        ({"base_url": "http://one"}, {"base_url": "http://other"}),
        ({"agent_command": "./one.sh"}, {"agent_command": "./other.sh"}),
    ],
)
def test_what_differs_is_counted_apart(one, other):
    found = results_by_agent([entrant("one", "r", "f", **one), entrant("two", "r", "r", **other)])
    assert [result.summary.overall.total for result in found] == [2, 2]
    assert len({result.label for result in found}) == 2


def test_a_command_run_is_named_by_its_run_and_not_by_its_shell_text():
    entrants = [
        entrant("half", "r", agent="command", agent_command="#!/bin/sh\nsed -i s/x/y/ *.py"),
        entrant("cheat", "f", agent="command", agent_command="./cheat.sh", model="openai/a"),
    ]
    assert label_runs(entrants) == ("command (half)", "command openai/a (cheat)")
    assert [name for name, *_ in told(*entrants)] == ["command (half)", "command openai/a (cheat)"]
    assert label_runs(entrants[:1]) == ("command (half)",)
    assert label_runs([Entrant(name="new", attempts=(), agent_command="x")]) == (
        "new, no attempts",
    )


def test_another_set_of_tasks_is_counted_apart():
    assert told(entrant("one", "r"), entrant("two", "r", "f")) == [
        ("oracle (one)", 1, 1),
        ("oracle (two)", 1, 2),
    ]


def test_a_run_whose_configuration_is_unreadable_is_counted_alone():
    known = entrant("one", "r")
    unknown = Entrant(name="two", attempts=known.attempts, is_configuration_known=False)
    assert told(known, unknown) == [("oracle (one)", 1, 1), ("oracle (two)", 1, 1)]


def test_records_of_several_agents_in_one_run_are_counted_apart():
    mixed = attempts("one", "r", agent="x") + attempts("one", "f", agent="y")
    assert told(Entrant(name="one", attempts=mixed)) == [("x", 1, 1), ("y", 0, 1)]


def test_a_run_without_attempts_has_a_result_without_an_agent():
    (result,) = results_by_agent([Entrant(name="one", attempts=())])
    assert (result.agent, result.summary.overall.total) == (None, 0)


AGENTS = {
    "A": ({"agent": "llm", "model": "openai/gpt-5"}, ("rf", "rr", "ff")),
    "B": ({"agent": "llm", "model": "anthropic/claude"}, ("ff", "fr", "ff")),
    "C": ({"agent": "codex", "model": None}, ("rr", "rr", "rf")),
}
RATES = {"llm openai/gpt-5": "3/6", "llm anthropic/claude": "1/6", "codex": "5/6"}
POOLED = "9/18"


@pytest.fixture
def three(tmp_path):
    """Runs of three agents at the same tasks, on disk."""
    for name, (more, tasks) in AGENTS.items():
        entries = [TaskEntry(id=f"task-{n}", folder="f", digest="d") for n in range(len(tasks))]
        known = configuration(run_id=name, attempts=2, tasks=tuple(entries), **more)
        store = RunStore.create(tmp_path, known)
        for number, letters in enumerate(tasks):
            for attempt, letter in enumerate(letters, start=1):
                record = MADE[letter](
                    run_id=name, task_id=f"task-{number}", attempt=attempt, **more
                )
                store.append(record, store.attempt_folder(record.task_id, attempt)[0])
    return tmp_path


def report(folder, *options):
    completed = call("report", *AGENTS, "--runs-dir", folder, *options)
    assert completed.code == 0, completed.stderr
    return completed


def test_a_table_has_a_rate_and_pass_at_k_for_each_agent(three):
    completed = report(three)
    assert POOLED not in completed.stdout + completed.stderr
    assert "pass@3" not in completed.stdout  # each agent made two attempts at a task
    assert completed.stdout.count("pass@2") == 3
    for (label, rate), line, name in zip(
        RATES.items(), completed.stderr.splitlines(), AGENTS, strict=True
    ):
        assert line.startswith(f"{label}: resolved {rate} ")
        assert line.endswith(str(three / name))


def test_json_has_a_result_for_each_agent_and_fits_its_schema(three):
    document = json.loads(report(three, "--format", "json").stdout)
    jsonschema.validate(document, json.loads(render_schemas()["report.json"]))
    assert "summary" not in document
    assert document["schema_version"] == 1
    assert {
        each["label"]: f"{each['summary']['overall']['resolved']}"
        f"/{each['summary']['overall']['total']}"
        for each in document["results"]
    } == RATES
    for each, name in zip(document["results"], AGENTS, strict=True):
        assert each["runs"] == [name]
        assert [rates["k"] for rates in each["summary"]["pass_at_k"]] == [1, 2]
    assert len({each["task_set"] for each in document["results"]}) == 1


@pytest.mark.parametrize("output", ["markdown", "summary of a job"])
def test_markdown_has_a_rate_for_each_agent(three, output, monkeypatch):
    summary = three / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    text = report(three, "--format", "markdown", "--github-summary").stdout
    text = text if output == "markdown" else summary.read_text()
    for label, rate in RATES.items():
        assert f"`{label}`: resolved {rate} " in text
    assert POOLED not in text
    assert "pass@3" not in text


def test_junit_does_not_count_agents_together(three):
    text = report(three, "--format", "junit").stdout
    for rate in RATES.values():
        assert rate in text
    assert POOLED not in text
    assert "k = 3" not in text


def test_csv_tells_the_models_of_one_agent_apart(three):
    rows = list(csv.DictReader(io.StringIO(report(three, "--format", "csv").stdout)))
    assert {(row["run"], row["agent"], row["model"]) for row in rows} == {
        ("A", "llm", "openai/gpt-5"),
        ("B", "llm", "anthropic/claude"),
        ("C", "codex", ""),
    }
