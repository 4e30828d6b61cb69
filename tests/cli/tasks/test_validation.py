import json
import os
import signal
import threading
from pathlib import Path

import pytest
import typer

from agentbench.cli.options import SandboxName, ValidationOptions
from agentbench.cli.process_setup import ExitCode
from agentbench.cli.tasks.validation import (
    follow_validation,
    print_result,
    validate_and_print,
    validation_settings,
)
from agentbench.errors import UsageError
from agentbench.tasks.dataset_rows import Rejection
from agentbench.tasks.problem import TaskId
from agentbench.validation.task_validation import ValidationResult, validate_folders
from tests.fakes.staging import small_task
from tests.patience import wait_until

pytestmark = pytest.mark.full

GOOD = ValidationResult(folder=Path("out/a"), task_id=TaskId("a"), reasons=())
BAD = ValidationResult(folder=Path("out/b"), task_id=TaskId("b"), reasons=("flaky: t.py::x (50%)",))
REFUSAL = Rejection(where="f.jsonl:2", instance="x-1", field="patch", what="is empty")


def told(capsys, *arguments, as_json=False):
    code = 0
    try:
        print_result(*arguments, as_json=as_json)
    except typer.Exit as ended:
        code = ended.exit_code
    return code, *capsys.readouterr()


def test_all_good_is_0(capsys):
    code, out, err = told(capsys, (), [GOOD.folder], [GOOD])
    assert (code, out, err) == (0, "out/a  valid\n", "1 task written, 1 of 1 valid\n")


def test_one_that_is_not_good_is_1_with_its_reasons(capsys):
    code, out, _ = told(capsys, (), [GOOD.folder, BAD.folder], [GOOD, BAD])
    assert code == 1
    assert out == "out/a  valid\nout/b  INVALID\n  flaky: t.py::x (50%)\n"


def test_one_that_is_refused_is_65_and_the_rest_is_told(capsys):
    code, out, err = told(capsys, [REFUSAL], [GOOD.folder], None)
    assert code == 65
    assert out == "out/a\n"
    assert err == "refused: f.jsonl:2: x-1: patch: is empty\n1 task written, 1 refused\n"


def test_json_is_one_document(capsys):
    code, out, _ = told(capsys, [REFUSAL], [BAD.folder], [BAD], as_json=True)
    assert code == 65
    document = json.loads(out)
    assert document["refused"] == [
        {"where": "f.jsonl:2", "instance": "x-1", "field": "patch", "what": "is empty"}
    ]
    assert document["proven"][0]["reasons"] == ["flaky: t.py::x (50%)"]


def test_what_obeys_no_terminal_is_printed(capsys):
    hostile = Rejection(where="a\x1b[2J.jsonl", what="x")
    _, out, err = told(capsys, [hostile], [Path("a\x1b]0;b")], None)
    assert "\x1b" not in out + err


def test_wrong_options_are_refused(tmp_path):
    with pytest.raises(UsageError, match="--jobs"):
        validation_settings(ValidationOptions(jobs="many", runs_dir=tmp_path))


def test_no_folder_proves_nothing(tmp_path, sandbox):
    given = ValidationOptions(
        repeat=1, jobs="1", sandbox=SandboxName(sandbox), runs_dir=tmp_path / "runs", quiet=True
    )
    settings = validation_settings(given)
    assert validate_folders([], settings, follow_validation(given)) == []


def test_warning_of_the_sandbox_is_printed_once(tmp_path, capsys):
    small_task(tmp_path / "small")
    given = ValidationOptions(
        repeat=1, jobs="1", sandbox=SandboxName.PROCESS, runs_dir=tmp_path / "runs", quiet=True
    )
    settings = validation_settings(given)
    validate_and_print((), [tmp_path / "small"], settings, given)
    assert capsys.readouterr().err.count("process is not a sandbox") == 1


def test_ctrl_c_proves_nothing_and_is_130(tmp_path, sandbox, capsys):
    small_task(tmp_path / "small", setup='commands = ["sleep 600"]')
    given = ValidationOptions(
        repeat=1, jobs="1", sandbox=SandboxName(sandbox), runs_dir=tmp_path / "runs", quiet=True
    )
    settings = validation_settings(given)
    pressing = threading.Thread(target=press_once_it_runs, args=(tmp_path / "runs",))
    pressing.start()
    with pytest.raises(typer.Exit) as caught:
        validate_and_print((), [tmp_path / "small"], settings, given)
    pressing.join()
    assert caught.value.exit_code == ExitCode.INTERRUPTED
    assert not (tmp_path / "small" / "proof.json").exists()
    err = capsys.readouterr().err
    assert err.endswith(f"written, not validated: agentbench validate {tmp_path / 'small'}\n")


def press_once_it_runs(runs_dir) -> None:
    wait_until(lambda: list(runs_dir.glob("validation/*/attempts/*/1/stages/setup.log")))
    os.kill(os.getpid(), signal.SIGINT)
