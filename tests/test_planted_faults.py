"""The list of planted faults fits the source, so that each of them can be planted."""

import subprocess
from pathlib import Path

import pytest

from tests.planted_faults import PlantedFault, SourceCopy, main, plant, read_faults, select_faults

TESTS = Path(__file__).parent
SOURCE = TESTS.with_name("src") / "agentbench"


@pytest.mark.parametrize("fault", read_faults(), ids=lambda fault: f"{fault.file}: {fault.what}")
def test_a_fault_can_be_planted_and_has_tests(fault: PlantedFault) -> None:
    sound = (SOURCE / fault.file).read_text("utf-8")

    changed = plant(sound, fault)

    assert changed != sound
    compile(changed, fault.file, "exec")
    assert [name for name in fault.tests if not (TESTS / name).exists()] == []


def test_every_folder_has_a_fault() -> None:
    parts = [*SOURCE.glob("[!_]*/"), *SOURCE.glob("extensions/[!_]*/")]
    folders = {path.relative_to(SOURCE).as_posix() for path in parts if path.name != "extensions"}

    assert [one for one in folders if not any(f.file.startswith(one) for f in read_faults())] == []


def test_a_text_that_is_not_there_is_refused_with_what_to_do() -> None:
    fault = PlantedFault(what="", file="a.py", old="x = 1", new="x = 2", tests=())

    with pytest.raises(ValueError, match=r"a\.py: expected 'x = 1' once, found it 2 times"):
        plant("x = 1\nx = 1\n", fault)


def test_faults_are_selected_by_file_and_by_sentence() -> None:
    faults = read_faults()

    assert list(select_faults(faults, "")) == list(faults)
    assert [fault.file for fault in select_faults(faults, "GiB")] == ["cli/quantities.py"]
    assert {fault.file for fault in select_faults(faults, "schedule")} == {"runs/scheduler.py"}


def test_a_text_that_selects_no_fault_is_wrong_usage(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["--only", "no such fault"])
    assert "selects no fault" in capsys.readouterr().err


def test_a_fault_is_detected_by_a_test_that_passes_without_it(tmp_path: Path) -> None:
    source, tests = tmp_path / "src" / "agentbench", tmp_path / "tests"
    source.mkdir(parents=True)
    tests.mkdir()
    (source / "__init__.py").write_text("")
    (source / "sums.py").write_text("def add(a, b):\n    return a + b\n")
    (tests / "conftest.py").write_text(
        "def pytest_addoption(parser):\n    parser.addoption('--tier')\n"
    )
    (tests / "test_sums.py").write_text(
        "from agentbench.sums import add\n\n\ndef test_adds():\n    assert add(2, 0) == 2\n\n\n"
        "def test_adds_more():\n    assert add(2, 3) == 5\n"
    )
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    copy = SourceCopy(folder=tmp_path)
    lost = PlantedFault(what="", file="sums.py", old="a + b", new="a - b", tests=("test_sums.py",))
    hidden = PlantedFault(what="", file="sums.py", old="a + b", new="b + a", tests=lost.tests)

    assert copy.detects(lost) == "tests/test_sums.py::test_adds_more"
    assert copy.detects(hidden) is None
    assert (source / "sums.py").read_text() == "def add(a, b):\n    return a + b\n"
