from dataclasses import replace

from agentbench.report.leaderboard import Entrant, label_runs, leaderboard
from agentbench.report.summary import Rate
from tests.report.several import attempts

GOOD, FAIR, BAD = ["r"] * 14, ["r"] * 7 + ["f"] * 7, ["f"] * 14


def entrant(name, *tasks, **more):
    return Entrant(name=name, attempts=attempts(name, *tasks, **more))


def test_runs_come_in_the_order_of_their_rates_with_letters_that_tell_chance():
    runs = [
        entrant("one", *BAD, agent="bad"),
        entrant("two", *GOOD, agent="good"),
        entrant("three", *GOOD[:10], *BAD[10:], agent="fair"),
    ]
    board = leaderboard(runs)
    told = [(entry.label, entry.group, entry.rank) for entry in board.entries]
    assert told == [("good", "a", 1), ("fair", "a", 1), ("bad", "b", 3)]
    assert (board.tasks, board.common) == (14, 14)


def test_p_values_are_corrected_for_the_number_of_pairs():
    alone = leaderboard([entrant("one", *GOOD, agent="a"), entrant("two", *BAD, agent="b")])
    runs = [
        entrant(name, *tasks, agent=name)
        for name, tasks in zip("xyz", [GOOD, BAD, FAIR], strict=True)
    ]
    (pair,) = alone.pairs
    assert (pair.first, pair.second, pair.tasks) == (0, 1, 14)
    assert pair.p_value == 2 / 2**14
    told = {(each.first, each.second): each.p_value for each in leaderboard(runs).pairs}
    assert told[0, 2] == 3 * 2 / 2**14
    assert told[0, 1] == told[1, 2] == 2 * 2 / 2**7


def test_the_order_goes_by_the_tasks_that_all_runs_have():
    easy = entrant("easy", "r", "f", agent="easy")
    hard = entrant("hard", "r", "r", "f", "f", "f", "f", agent="hard")
    board = leaderboard([easy, hard])
    assert [entry.label for entry in board.entries] == ["hard", "easy"]
    assert board.entries[0].common == Rate(resolved=2, total=2)
    assert board.entries[0].summary.overall == Rate(resolved=2, total=6)
    assert (board.tasks, board.common) == (6, 2)


def test_runs_that_share_no_task_are_not_tested_and_not_told_apart():
    other = Entrant(name="b", attempts=attempts("b", "r", "f", agent="b")[1:])
    board = leaderboard([entrant("a", "r", agent="a"), other])
    assert board.pairs == ()
    assert board.common == 0
    assert [entry.group for entry in board.entries] == ["a", "a"]
    assert [entry.label for entry in board.entries] == ["a", "b"]


def test_an_interval_of_several_attempts_is_clustered_by_task():
    board = leaderboard([entrant("a", "rrrr", "ffff"), entrant("b", "r", "f")])
    assert {entry.common.tasks for entry in board.entries} == {2, None}


def test_without_its_libraries_there_are_places_and_no_groups():
    board = leaderboard([entrant("a", "r"), entrant("b", "f")], with_groups=False)
    assert (board.pairs, [entry.group for entry in board.entries]) == ((), ["", ""])
    assert [entry.rank for entry in board.entries] == [1, 2]


def test_a_label_is_the_agent_and_its_model_and_the_run_where_others_have_the_same():
    runs = [
        entrant("one", "r", agent="llm", model="m"),
        entrant("two", "r", agent="llm", model="m"),
        entrant("three", "r", agent="llm"),
        Entrant(name="four", attempts=()),
        Entrant(
            name="five", attempts=attempts("v", "r", agent="x") + attempts("v", "r", agent="y")
        ),
    ]
    assert label_runs(runs) == (
        "llm m (one)",
        "llm m (two)",
        "llm",
        "four, no attempts",
        "x and 1 more",
    )
    assert len(set(label_runs([runs[0], runs[0]]))) == 2


def test_a_note_names_a_run():
    noted = replace(entrant("one", "r", agent="noop"), note="with hints")
    assert label_runs([noted, entrant("two", "r", agent="noop")]) == (
        "noop (with hints)",
        "noop (two)",
    )
