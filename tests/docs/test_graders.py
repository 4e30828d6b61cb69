import subprocess
import sys
from pathlib import Path

from benchmarks.graders.page import page
from benchmarks.graders.results import read, resolved

ROOT = Path(__file__).parents[2]
MACHINE = {"cores": 2}


def column(cells, **more):
    return {
        "requirement": "", "python": "3.11", "method": "It runs.", "taken": "2026-01-02",
        "machine": MACHINE, "engine": "20", "agentbench": "1", "jobs": 2, "trials": 4,
        "seconds": 8.0, "failed": None, "cells": cells, **more,
    }  # fmt: skip


def cells(*resolved, detail="no"):
    return [{"resolved": one, "detail": detail, "evidence": "k", "sha256": "s"} for one in resolved]


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
            {"lie": cells(True, False), "mend": cells(None, detail="a `late` one")},
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


def test_the_readme_has_the_figures_of_the_table() -> None:
    results = read()
    cheats = [one["name"] for one in results["rows"] if not one["honest"]]
    honest = [one["name"] for one in results["rows"] if one["honest"]]
    fooled = {
        name: sum(bool(resolved(one["cells"][row])) for row in cheats)
        for name, one in results["graders"].items()
    }
    full = {name: one for name, one in results["graders"].items() if "controls full" in name}
    rejected = sum(not resolved(one["cells"][row]) for one in full.values() for row in honest)
    others = [count for name, count in fooled.items() if not name.startswith("agentbench")]
    words = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert len(full) == 2
    assert (
        f"agentbench was fooled by {sum(fooled[name] for name in full)} of {len(cheats)} kinds of "
        f"cheats and rejected {rejected} of {len(honest)} honest fixes. The others were fooled by "
        f"{min(others)} to {max(others)} of the {len(cheats)}."
    ) in words


def test_a_page_without_verdicts_says_so() -> None:
    assert "Nothing was measured yet." in page({"rows": [], "graders": {}})
