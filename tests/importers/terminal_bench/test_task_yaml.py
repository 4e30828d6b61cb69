import pytest

from agentbench.importers.terminal_bench import (
    TerminalBenchTaskFile,
    parse_terminal_bench_task_file,
    parse_yaml,
)
from agentbench.tasks.dataset_rows import Rejection
from tests.importers.terminal_bench.terminal_folders import TASK


def test_what_a_run_needs_is_read_and_the_rest_kept_apart():
    form = parse_terminal_bench_task_file(TASK, where="task.yaml")
    assert isinstance(form, TerminalBenchTaskFile)
    assert form.instruction == "Write `hello` into hello.txt."
    assert (form.max_agent_timeout_sec, form.max_test_timeout_sec) == (60.0, 120.0)
    assert form.model_extra == {"author_name": "A. Nonymous"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "task.yaml: not valid YAML: "),
        ("!!python/object/apply:os.system ['true']", "task.yaml: not valid YAML: could not determ"),
        ("- a\n", "task.yaml: expected keys and values"),
        ("difficulty: easy\n", "task.yaml: instruction: is missing"),
        ("instruction: ''\n", "task.yaml: instruction: '' is empty"),
        ("instruction: [a]\n", "task.yaml: instruction: ['a'] is not a string"),
        (
            "instruction: a\nmax_test_timeout_sec: -1\n",
            "task.yaml: max_test_timeout_sec: -1 is not",
        ),
        ("instruction: a\ntags: easy\n", "task.yaml: tags: 'easy' is not a list"),
    ],
)
def test_a_wrong_file_is_refused_with_its_field(text, said):
    found = parse_terminal_bench_task_file(text, where="task.yaml")
    assert isinstance(found, list)
    assert str(found[0]).startswith(said)


def test_a_list_of_lists_without_end_is_refused():
    found = parse_yaml("[" * 20_000, "task.yaml")
    assert isinstance(found, Rejection)
