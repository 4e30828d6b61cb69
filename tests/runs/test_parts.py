from agentbench.runs.start import start_run
from tests.fakes.staging import small_task


def test_tasks_take_turns_and_a_seed_shuffles_them(tmp_path, options):
    tasks = [small_task(tmp_path / name) for name in "abcdef"]

    def order(**more):
        run = start_run(tasks, options.replace(attempts=2, **more))
        return [(item.task.id, item.attempt) for item in run.planned]

    assert order() == [(name, attempt) for attempt in (1, 2) for name in "abcdef"]
    shuffled = order(shuffle_seed=7)
    assert shuffled == order(shuffle_seed=7) != order()
    assert sorted(shuffled) == sorted(order())
