import subprocess

import pytest

from agentbench.importers.task_folders import ConvertedTask
from agentbench.importers.terminal_bench import read_terminal_bench_task
from tests.importers.terminal_bench.terminal_folders import TASK, terminal_folder

STEPS = "- command: echo hello > hello.txt\n- command: nano a\n  append_enter: {enter}\n"


def task(folder) -> ConvertedTask:
    found = read_terminal_bench_task(folder)
    assert isinstance(found, ConvertedTask), [str(each) for each in found]
    return found


def refused(folder) -> list[str]:
    found = read_terminal_bench_task(folder)
    assert isinstance(found, list)
    return [str(each).replace(f"{folder}/", "") for each in found]


def test_a_folder_becomes_a_task_whose_script_judges(tmp_path):
    made = task(terminal_folder(tmp_path / "hello")).new
    assert (made.id, made.instruction) == ("hello", "Write `hello` into hello.txt.")
    assert made.table.tags == ("terminal-bench", "text", "files", "easy")
    assert made.table.environment.env == {"GREETING": "hello"}
    assert made.table.repo.workdir == "/app"
    assert made.table.verifier is not None
    assert made.table.verifier.timeout_s == 120.0


def test_the_answers_stay_out_of_what_the_image_is_built_of(tmp_path):
    made = task(terminal_folder(tmp_path / "hello")).new
    assert sorted(made.copies) == [
        "environment/Dockerfile",
        "environment/greet.sh",
        "terminal-bench/docker-compose.yaml",
        "terminal-bench/run-tests.sh",
        "terminal-bench/solution.sh",
        "terminal-bench/task.yaml",
    ]


def test_keystrokes_that_are_lines_for_a_shell_are_a_script(tmp_path):
    steps = STEPS.format(enter="true")
    folder = terminal_folder(tmp_path / "x", {"solution.sh": None, "solution.yaml": steps})
    script = task(folder).new.files["solution/solution.sh"]
    assert script == b"#!/bin/bash\necho hello > hello.txt\nnano a\n"


@pytest.mark.parametrize(
    ("printed", "reward"),
    [
        ("== short test summary info ==\nPASSED a::b\n", "1"),
        ("== short test summary info ==\nPASSED a::b\nSKIPPED [1] a:3\nXFAIL a::c\n", "1"),
        ("== short test summary info ==\nPASSED a::b\nFAILED a::c - x\n", "0"),
        ("== short test summary info ==\nPASSED a::b\nERROR a::c\n", "0"),
        ("== short test summary info ==\nPASSED a::b\nXPASS a::c\n", "0"),
        ("== short test summary info ==\n", "0"),
        ("PASSED a::b\n", "0"),
        ("FAILED early\n==== short test summary info ====\nPASSED a::b\n", "1"),
        ("", "0"),
    ],
)
def test_the_script_reads_the_summary_as_terminal_benchs_parser_does(tmp_path, printed, reward):
    made = task(terminal_folder(tmp_path / "x")).new
    script = made.files["tests/agentbench-verify.sh"].decode()
    (tmp_path / "run-tests.sh").write_text(f"cat <<'END'\n{printed}END\n")
    here = script.replace("/logs/verifier", str(tmp_path)).replace("/tests/run", f"{tmp_path}/run")
    subprocess.run(["sh", "-c", here], check=True, stdout=subprocess.DEVNULL)
    assert (tmp_path / "reward.txt").read_text().strip() == reward


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"task.yaml": None}, "task.yaml: is missing"),
        ({"task.yaml": "\ufeffinstruction: a\n"}, "task.yaml: begins with a byte order mark"),
        ({"task.yaml": TASK.replace("pytest", "mlebench")}, "task.yaml: parser_name: is 'mleb"),
        (
            {"task.yaml": f"{TASK}run_tests_in_same_shell: true\n"},
            "task.yaml: run_tests_in_same_shell: requires the agent's own shell",
        ),
        ({"run-tests.sh": None}, "run-tests.sh: is missing"),
        ({"run-tests.sh": "#!/bin/bash\r\npytest\r\n"}, "run-tests.sh: has Windows line ends"),
        ({"solution.sh": None}, "solution.yaml: is missing"),
        ({"Dockerfile": None}, "Dockerfile: is missing"),
        (
            {"docker-compose.yaml": "services: {a: {build: .}, b: {image: c}}\n"},
            "docker-compose.yaml: services: none of a, b is the client",
        ),
        (
            {"solution.sh": None, "solution.yaml": STEPS.format(enter="false")},
            "solution.yaml: step 2 types 'nano a' into a program",
        ),
        ({"solution.sh": None, "solution.yaml": "- block: true\n"}, "solution.yaml: 0.command: is"),
        ({"Dockerfile": "FROM a\nWORKDIR $X\n"}, "Dockerfile: 'WORKDIR $X' depends on a variable"),
        ({"Dockerfile": "FROM a\nWORKDIR /run\n"}, "repo.workdir: '/run' is a folder of the syst"),
    ],
)
def test_a_folder_that_cannot_be_taken_is_refused_with_file_and_field(tmp_path, changes, said):
    (one,) = refused(terminal_folder(tmp_path / "x", changes))
    assert one.removeprefix(f"{tmp_path}/x: ").startswith(said)


def test_a_name_that_is_no_id_is_refused(tmp_path):
    (one,) = refused(terminal_folder(tmp_path / "a b"))
    assert "'a b' is not an id" in one
