import shutil
import tomllib

import pytest

from agentbench.runs.options import RunOptions
from agentbench.validation.task_validation import ValidationSettings, read_proof, validate_folders
from tests.e2e.small_task import BUGGY, HIDDEN, LISTED, SmallTask
from tests.fakes.staging import local_provider

CHANCE = """

import secrets
import pytest

@pytest.mark.parametrize("number", range(6))
def test_chance(number):
    assert secrets.token_hex(8) < "8"
"""
CHANCES = tuple(f"tests/test_hidden.py::test_chance[{number}]" for number in range(6))


def options_in(folder) -> RunOptions:
    return RunOptions(sandbox=local_provider().name, runs_dir=folder / "runs", attempts=2)


@pytest.fixture
def options(tmp_path) -> RunOptions:
    return options_in(tmp_path)


@pytest.fixture
def once(options) -> RunOptions:
    """For what shows in a single attempt."""
    return options.replace(attempts=1)


@pytest.fixture
def write(tmp_path):
    def write(name="small", **changes):
        (tmp_path / name).mkdir()
        return SmallTask(**changes).write(tmp_path / name)

    return write


def follow(run):
    for _ in run.attempts():
        pass


def prove(folders, options, **settings):
    return validate_folders(folders, ValidationSettings(options=options, **settings), follow)


@pytest.fixture(scope="module")
def proven(tmp_path_factory):
    """A good task with a proof beside it, what was said of it, and the options of its runs."""
    place = tmp_path_factory.mktemp("proven")
    (place / "small").mkdir()
    folder, options = SmallTask().write(place / "small"), options_in(place)
    (said,) = prove([folder], options, record=True)
    return folder, said, options


@pytest.fixture
def copied(proven, tmp_path):
    """A copy of that task and of its proof."""
    return shutil.copytree(proven[0], tmp_path / "small", symlinks=True)


def test_a_good_task_and_bad_ones_are_told_in_the_order_they_came(write, once):
    bad = write("bad", files={"basket.py": "X = 1\n"})
    (bad / "task.toml").write_text("schema_version = 2\n")
    unsolved, good = write("unsolved"), write("good")
    (unsolved / "solution.patch").unlink()
    said = prove([bad, unsolved, good], once)
    assert [(one.task_id, one.is_valid) for one in said] == [
        ("bad", False),
        ("unsolved", False),
        ("good", True),
    ]
    assert said[0].proof is None
    assert "schema_version" in said[0].reasons[0]
    assert said[1].reasons[0].startswith("the reference solution ends in TOOL_ERROR")
    assert not (good / "proof.json").exists()


def test_a_task_without_regression_tests_is_not_good(write, once):
    unguarded = write("unguarded", tests="pass_to_pass = []")
    nothing_passes = write("nothing", files={"basket.py": BUGGY, "serial.txt": "1"})
    test = "tests/test_basket.py::test_the_cheapest_is_found"
    guarded = write("guarded", tests=f'pass_to_pass = ["{test}"]')
    said = prove([unguarded, nothing_passes, guarded], once)
    assert [one.is_valid for one in said] == [False, False, True]
    for one in said[:2]:
        (reason,) = one.reasons
        assert reason.startswith("no regression tests: no test passes both before and after")


def test_an_instance_of_swe_bench_may_have_none(write, once):
    folder = write("instance", tests="pass_to_pass = []")
    (folder / "swebench.json").write_text("{}")
    (one,) = prove([folder], once)
    assert one.is_valid


def test_what_was_found_out_is_kept_beside_the_task(proven):
    folder, said, options = proven
    kept = read_proof(folder)
    assert kept == said.stored_proof
    assert (kept.good, kept.repeat, kept.sandbox) == (True, 2, options.sandbox)
    assert kept.controlled == LISTED
    assert kept.seconds["final_test"] > 0


def test_a_proof_that_holds_is_taken_over(copied, options):
    (one,) = prove([copied], options, resume=True)
    assert (one.is_valid, one.is_from_stored_proof) == (True, True)
    assert not options.runs_dir.exists() or not list(options.runs_dir.iterdir())


@pytest.mark.parametrize("change", ["file", pytest.param("repeat", marks=pytest.mark.soak)])
def test_a_proof_of_something_else_is_none(copied, options, change):
    if change == "file":
        (copied / "instruction.md").write_text("something else\n")
    more = options.replace(attempts=2 + (change == "repeat"))
    (one,) = prove([copied], more, resume=True)
    assert not one.is_from_stored_proof


def test_flaky_tests_are_set_apart_and_the_rest_is_proven_again(write, options):
    stable = "tests/test_basket.py::test_the_cheapest_is_found"
    listed = repr([*CHANCES, stable]).replace("'", '"')
    folder = write(hidden=HIDDEN + CHANCE, tests=f"pass_to_pass = {listed}")
    (one,) = prove([folder], options, record=True)
    tests = tomllib.loads((folder / "task.toml").read_text())["tests"]
    apart = {each["id"]: each["rate"] for each in tests["quarantined"]}
    assert apart
    assert set(apart) <= set(CHANCES)
    assert all(0 < rate < 1 for rate in apart.values())
    assert not set(tests["pass_to_pass"]) & set(apart)
    assert tests["fail_to_pass"] == list(LISTED)
    # Six coins may all fall alike in the last round, and then nothing more is seen of them.
    assert all(reason.startswith(("flaky: ", "the reference")) for reason in one.reasons)


def test_a_task_whose_every_test_is_flaky_is_not_good(write, options):
    folder = write(hidden=HIDDEN + CHANCE, fail_to_pass=CHANCES)
    before = (folder / "task.toml").read_text()
    (one,) = prove([folder], options, record=True)
    assert not one.is_valid
    if set(one.proof.flaky) >= set(CHANCES):
        assert (folder / "task.toml").read_text() == before


def test_ids_are_found_by_running(write, once):
    folder = write(fail_to_pass=(), tests="pass_to_pass = []")
    (one,) = prove([folder], once, write_ids=True)
    assert one.is_valid
    assert tomllib.loads((folder / "task.toml").read_text())["tests"]["fail_to_pass"] == list(
        LISTED
    )


def test_a_solution_that_fixes_nothing_is_the_reason_of_its_task_alone(write, once):
    nothing, good = write("nothing", hidden="", fail_to_pass=()), write("good", fail_to_pass=())
    said = prove([nothing, good], once, write_ids=True)
    assert said[0].reasons[0].startswith("the reference solution makes no failing test pass")
    assert said[1].is_valid


def test_no_folder_is_nothing_to_prove(options):
    assert prove([], options) == []
