"""What counts as a leak: seen before written, and text of hidden tests anywhere."""

import pytest

from agentbench.core.host import default_cache_dir
from agentbench.errors import InputError
from agentbench.extensions.export.answers import read_answers
from agentbench.extensions.export.leaks import Leak, find_leak
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from tests.audit.conftest import write_task
from tests.e2e.small_task import BUGGY, HIDDEN, patch_of
from tests.extensions.export.recorded_runs import FIXED, SOLUTION
from tests.fakes.staging import small_task
from tests.models.test_build import TASK, completion, exchange, says, told

DELETION = BUGGY.replace("sum(prices[1:])", "sum(prices)")
LONG_DATA = "".join(f"row {number}: {number * 7919} of the expected table\n" for number in range(9))


def mirrors():
    return Mirrors(default_cache_dir() / "mirrors")


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("leaks") / "small"
    data = {"tests/expected.txt": LONG_DATA}
    return read_answers(small_task(folder, solution=SOLUTION, hidden_data=data), mirrors())


@pytest.fixture(scope="module")
def deletion(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deletion") / "small"
    return read_answers(small_task(folder), mirrors())


def spoken(*turns):
    """A trajectory of commands and what each printed."""
    said = []
    exchanges = []
    for number, (command, output) in enumerate(turns):
        call = says("", (f"c{number}", "run", f'{{"command": {command!r}}}'.replace("'", '"')))
        exchanges.append(exchange([TASK, *said], completion(call)))
        said += [call, {"role": "tool", "tool_call_id": f"c{number}", "content": output}]
    return told(*exchanges, exchange([TASK, *said], completion(says("done"))))


def leak(answers, *turns, patch=""):
    return find_leak(answers, spoken(*turns), (), patch.encode())


@pytest.mark.parametrize(
    "shown",
    [
        HIDDEN,
        LONG_DATA,
        "".join(f"{n:6}\t{line}\n" for n, line in enumerate(HIDDEN.splitlines(), start=1)),
        "".join(f"tests/a.py:{n}:{line}\n" for n, line in enumerate(HIDDEN.splitlines(), start=1)),
        '{"output": "' + HIDDEN.replace('"', '\\"').replace("\n", "\\n") + '"}',
        "FAILED tests/test_x.py::test_one_price_is_the_total - assert 0 == 5",
        "\n".join(f"+{line}" for line in HIDDEN.splitlines()),
    ],
    ids=["plain", "data", "numbered", "grep", "json", "a name", "diff"],
)
def test_hidden_tests_are_found_however_they_are_shown(answers, shown):
    assert leak(answers, ("ls", shown)) is Leak.HIDDEN_TESTS


def test_hidden_tests_in_the_agents_own_text_or_patch_count_too(answers):
    patch = patch_of("tests/test_mine.py", "", HIDDEN)
    assert leak(answers, ("ls", ""), patch=patch) is Leak.HIDDEN_TESTS
    assert find_leak(answers, None, (), patch.encode()) is Leak.HIDDEN_TESTS


def test_the_repository_may_be_read(answers):
    shown = [("cat basket.py", BUGGY), ("cat tests/test_basket.py", "import basket\n")]
    assert leak(answers, *shown) is None


NUMBERED = "".join(f"{n:6}\t{line}\n" for n, line in enumerate(FIXED.splitlines(), start=1))


@pytest.mark.parametrize(
    "shown", [SOLUTION, FIXED, NUMBERED], ids=["patch", "file", "numbered file"]
)
def test_a_solution_that_comes_first_is_a_leak(answers, shown):
    assert leak(answers, ("cat basket.py", BUGGY), ("cat x", shown)) is Leak.GIVEN_SOLUTION


def test_a_solution_in_the_prompt_is_a_leak(answers):
    asked = {"role": "user", "content": f"mend it like this:\n{FIXED}"}
    trajectory = told(exchange([asked], completion(says("done"))))
    assert find_leak(answers, trajectory, (), b"") is Leak.GIVEN_SOLUTION


@pytest.mark.parametrize(
    "command",
    [
        "cat > basket.py <<EOF amounts = list(prices) grand_total = sum(amounts) return EOF",
        "sed -i 's/return sum.*/amounts = list(prices); grand_total = sum(amounts)/' basket.py",
    ],
)
def test_the_agents_own_work_may_be_shown(answers, command):
    shown = [(command, ""), ("git diff", SOLUTION), ("cat basket.py", FIXED)]
    assert leak(answers, *shown, patch=SOLUTION) is None


def test_a_patch_that_the_agent_did_not_write_is_a_leak(answers):
    assert leak(answers, ("git apply /x", ""), patch=SOLUTION) is Leak.FOREIGN_PATCH


def test_a_fix_that_only_removes_needs_a_command_that_changes_files(deletion):
    shown = ("cat x", DELETION)
    assert leak(deletion, ("cat basket.py", BUGGY), shown) is Leak.GIVEN_SOLUTION
    edit = ("sed -i s/.1:.// basket.py", "")
    assert leak(deletion, edit, shown, patch=patch_of("basket.py", BUGGY, DELETION)) is None


@pytest.mark.parametrize(("tool", "found"), [("MultiEdit", None), ("Read", Leak.GIVEN_SOLUTION)])
def test_the_name_of_a_tool_says_whether_it_changes_files(deletion, tool, found):
    call = says("I will edit it.", ("c0", tool, '{"path": "basket.py"}'))
    result = {"role": "tool", "tool_call_id": "c0", "content": DELETION}
    trajectory = told(
        exchange([TASK], completion(call)),
        exchange([TASK, call, result], completion(says("done"))),
    )
    assert find_leak(deletion, trajectory, (), b"") is found


def test_a_long_patch_of_unknown_origin_must_not_equal_the_solution(tmp_path):
    steps = (f"\n\ndef step_{n}(prices):\n    return prices[{n}]\n" for n in range(5))
    fixed = BUGGY + "".join(steps)
    solution = patch_of("basket.py", BUGGY, fixed)
    answers = read_answers(small_task(tmp_path / "long", solution=solution), mirrors())
    assert find_leak(answers, None, (), solution.encode()) is Leak.EQUAL_PATCH
    other = patch_of("basket.py", BUGGY, fixed + "# and more\n")
    assert find_leak(answers, None, (), other.encode()) is None


def test_a_short_patch_may_equal_the_solution(deletion):
    patch = patch_of("basket.py", BUGGY, DELETION)
    assert find_leak(deletion, None, (), patch.encode()) is None


def test_what_the_instruction_quotes_is_no_secret(tmp_path):
    folder = write_task(tmp_path / "small", instruction=f"It must pass:\n\n{HIDDEN}")
    answers = read_answers(load_task(folder, mirrors=mirrors()), mirrors())
    assert leak(answers, ("cat x", HIDDEN)) is None


def test_a_repository_that_cannot_be_read_is_refused(tmp_path):
    task = small_task(tmp_path / "small")
    lost = task.replace(
        source=task.source.replace(files=None, url=f"file://{tmp_path}/none", commit="a" * 40)
    )
    with pytest.raises(InputError, match="the base tree is unavailable"):
        read_answers(lost, mirrors())
