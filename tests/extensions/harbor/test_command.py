import pytest
import typer

from agentbench.cli.options import ValidationOptions
from agentbench.extensions.harbor.command import validate_and_report
from agentbench.importers.task_folders import ImportResult
from agentbench.tasks.dataset_rows import Rejection


def concluded(imported, tmp_path, **changes):
    given = ValidationOptions(repeat=1, jobs="1", runs_dir=tmp_path / "runs", **changes)
    validate_and_report(imported, given, prove=True)


def test_nothing_that_was_written_is_nothing_to_prove(tmp_path, capsys):
    with pytest.raises(typer.Exit) as caught:
        concluded(ImportResult(rejections=[Rejection(where="a", what="b")]), tmp_path)
    assert caught.value.exit_code == 65
    assert not (tmp_path / "runs").exists()
    assert "refused: a: b\n" in capsys.readouterr().err


def test_notes_are_made_harmless_and_can_be_silenced(tmp_path, capsys):
    concluded(ImportResult(notes=["x: \x1b[31mred"]), tmp_path)
    assert "note: x: red\n" in capsys.readouterr().err
    concluded(ImportResult(notes=["x: red"]), tmp_path, quiet=True)
    assert "note" not in capsys.readouterr().err
