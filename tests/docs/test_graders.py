import subprocess
import sys
from pathlib import Path

from benchmarks.graders.page import page

ROOT = Path(__file__).parents[2]
MACHINE = {"cores": 2}


def column(cells, **more):
    return {
        "requirement": "", "python": "3.11", "way": "It runs.", "taken": "2026-01-02",
        "machine": MACHINE, "engine": "20", "agentbench": "1", "jobs": 2, "trials": 4,
        "seconds": 8.0, "failed": None, "cells": cells, **more,
    }  # fmt: skip


def cells(*resolved, says="no"):
    return [{"resolved": one, "says": says, "kept": "k", "sha256": "s"} for one in resolved]


def row(name, *, honest):
    return {"name": name, "title": f"the {name}", "kind": "k", "about": "A.", "honest": honest}


def test_the_page_is_what_the_verdicts_make() -> None:
    made = subprocess.run(
        [sys.executable, "-m", "benchmarks.graders.page"],
        capture_output=True,
        check=True,
        cwd=ROOT,
        text=True,
    ).stdout
    assert (ROOT / "docs" / "graders.md").read_text("utf-8") == made


def test_the_page_counts_each_cheat_once_and_tells_rejected_fixes_in_the_graders_words() -> None:
    rows = [row("lie", honest=False), row("bribe", honest=False), row("mend", honest=True)]
    graders = {
        "agentbench": column(
            {"lie": cells(False, False), "bribe": cells(False), "mend": cells(True)}
        ),
        "theirs": column(
            {"lie": cells(True, False), "mend": cells(None, says="a `late` one")},
            requirement="theirs==1.2",
        ),
        "absent": column({}, failed="no wheel", seconds=None),
    }
    text = page({"rows": rows, "graders": graders})
    assert "| A | agentbench | 1 | 0 of 2 cheats | 0 of 1 | 2.0 |" in text
    assert "| B | theirs | 1.2 | 1 of 1 cheats | 1 of 1 | 2.0 |" in text
    assert "| C | absent |  | did not run: no wheel |" in text
    assert "| the lie | 0/2 | **1/2** | · |" in text
    assert "| the mend | 1/1 | **0/1**† | · |" in text
    assert "- B, the mend: `a 'late' one`" in text


def test_a_page_without_verdicts_says_so() -> None:
    assert "Nothing was measured yet." in page({"rows": [], "graders": {}})
