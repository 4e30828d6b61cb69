import json
import subprocess
import sys
from pathlib import Path

from benchmarks.performance_page import TARGETS, figures, page

ROOT = Path(__file__).parents[2]


def test_the_page_is_what_the_figures_make():
    made = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "performance_page.py"],
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    assert (ROOT / "docs" / "performance.md").read_text("utf-8") == made


def test_every_target_of_a_benchmark_that_was_run_is_among_its_measures():
    told = figures()
    for target in TARGETS:
        if target.benchmark in told:
            names = [each["name"] for each in told[target.benchmark]["measures"]]
            assert target.measure in names


def test_a_least_is_held_from_there_on():
    target = next(target for target in TARGETS if target.is_least)
    assert [target.holds(target.limit + more) for more in (-0.1, 0, 1)] == [False, True, True]
    target = next(target for target in TARGETS if not target.is_least)
    assert [target.holds(target.limit + more) for more in (-0.1, 0, 1)] == [True, True, False]


def test_a_target_that_does_not_hold_is_said_to_and_one_without_figures_too(tmp_path):
    assert page({}).count("not measured yet") == len(TARGETS)
    own = [target for target in TARGETS if target.benchmark == "startup"]
    measures = [
        {"name": target.measure, "unit": "x", "median": value, "low": value, "high": value,
         "ratio": value, "against": "other"}
        for target, value in zip(own, [1, 1000], strict=True)
    ]  # fmt: skip
    machine = {"cores": 2, "processor": "p", "system": "Linux 6", "python": "3.11"}
    document = {
        "benchmark": "startup", "taken": "2026-01-02", "rounds": 3, "machine": machine, "facts": {},
        "measures": measures, "notes": ["a note"],
    }  # fmt: skip
    (tmp_path / "startup.json").write_text(json.dumps(document))
    text = page(figures(tmp_path))
    assert "| ≤ 150 | 1 | yes |" in text
    assert "| ≤ 60 | 1,000 | **no** |" in text
    assert "3 rounds, too few to be quoted" in text
    assert "- a note" in text
