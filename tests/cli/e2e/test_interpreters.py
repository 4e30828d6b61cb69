from agentbench.cli.run import interpreter_line
from agentbench.runs.store.configuration import TaskEntry
from agentbench.tasks.problem import TaskId


def entries(*kinds: tuple[str | None, str | None]) -> list[TaskEntry]:
    return [
        TaskEntry(id=TaskId(f"t{number}"), folder="t", digest="d", image=image, python=python)
        for number, (image, python) in enumerate(kinds)
    ]


BASE = ("agentbench/python:3.11", "3.11")


def test_one_image_of_all_tasks_is_named_with_its_python():
    assert interpreter_line(entries(BASE, BASE)) == "python: 3.11 of agentbench/python:3.11"


def test_the_python_of_a_machine_is_named_as_that():
    assert interpreter_line(entries((None, "3.11.4"))) == "python: 3.11.4 of this machine"


def test_several_images_come_with_the_number_of_their_tasks():
    line = interpreter_line(entries(("own:1", None), BASE, BASE, (None, None)))
    assert line == (
        "python: 3.11 of agentbench/python:3.11 for 2 tasks, that of own:1 for 1 task, "
        "not known yet for 1 task"
    )


def test_very_many_images_are_counted():
    line = interpreter_line(entries(*((f"own:{number}", None) for number in range(9))))
    assert line.endswith("own:4 for 1 task, 4 more")
