"""SWE-bench's own harness against agentbench, on the same instances with images made here.

ROWS are rows of swebench 5 (with `image`, `eval_script`, `log_parser`, `eval_type`). CONTEXTS has
a folder with a Dockerfile for each instance id; building these images is a part of the harness's
cold run. agentbench gets the same rows without the four fields; its cold run begins with the import
of the rows and an empty cache. Each cold run judges the reference patches and useless ones, each
warm run the reference patches once more. A wrong verdict on either side ends the benchmark.
Run: python benchmarks/swebench_harness.py ROWS CONTEXTS --repos DIR --harness PYTHON
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from measuring import arguments, child, show, take_turns

_JOBS = 2
_OF_THE_HARNESS = ("image", "eval_script", "log_parser", "eval_type")
_USELESS = """\
diff --git a/USELESS b/USELESS
new file mode 100644
--- /dev/null
+++ b/USELESS
@@ -0,0 +1 @@
+nothing
"""


def main() -> None:
    """Take turns and show medians and ratios."""
    parser = arguments(__doc__, rounds=1)
    parser.add_argument("rows", type=Path)
    parser.add_argument("contexts", type=Path)
    parser.add_argument("--repos", type=Path, required=True, help="clones as owner/name")
    parser.add_argument("--harness", required=True, help="the Python that has swebench")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agentbench-harness-") as scratch:
        both = _Sides(options, Path(scratch))
        variants: dict[str, Callable[[], float]] = {
            "harness, cold": both.harness_cold,
            "agentbench, cold": both.ours_cold,
            "harness, warm": lambda: both.harness("gold"),
            "agentbench, warm, controls off": lambda: both.ours("gold", "off"),
            "agentbench, warm, controls full": lambda: both.ours("gold", "full"),
        }
        measures = take_turns(variants, options.rounds)
    by_name = {each.name: each for each in measures}
    shown = [
        each.against_measure(by_name[f"harness, {'cold' if 'cold' in each.name else 'warm'}"])
        for each in measures
    ]
    show("swebench_harness", shown, options, facts={"instances": len(both.rows), "jobs": _JOBS})


@dataclass
class _Sides:
    """Both sides; the cold runs fill the caches that the warm ones use."""

    options: argparse.Namespace
    scratch: Path

    def __post_init__(self) -> None:
        self.rows = [json.loads(line) for line in self.options.rows.read_text().splitlines()]
        plain = [{k: v for k, v in r.items() if k not in _OF_THE_HARNESS} for r in self.rows]
        self._write("plain.jsonl", plain)
        for name in ("gold", "noop"):
            self._write(f"{name}.jsonl", [_prediction(row, name) for row in self.rows])
        self._env: dict[str, str] = {}

    def _write(self, name: str, rows: list[dict[str, object]]) -> None:
        (self.scratch / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    def harness_cold(self) -> float:
        """Build the images, and judge all patches."""
        images = [str(row["image"]) for row in self.rows]
        subprocess.run(["docker", "rmi", *images], capture_output=True, check=False)
        subprocess.run(["docker", "builder", "prune", "-f"], capture_output=True, check=True)
        folders = [self.options.contexts / str(row["instance_id"]) for row in self.rows]
        build = ["docker", "build", "--quiet", "--network", "host", "--tag"]
        argvs = [[*build, i, str(f)] for i, f in zip(images, folders, strict=True)]
        started = time.perf_counter()
        with ThreadPoolExecutor(_JOBS) as pool:
            list(pool.map(child, argvs))
        return time.perf_counter() - started + self.harness("gold") + self.harness("noop")

    def harness(self, patches: str) -> float:
        """Judge one kind of patch with the harness."""
        run_id = uuid4().hex
        argv = [
            self.options.harness, "-m", "swebench.harness.run_evaluation", "-d",
            str(self.options.rows.resolve()), "-p", f"{patches}.jsonl", "-id", run_id,
            "--max_workers", str(_JOBS), "--report_dir", "reports",
        ]  # fmt: skip
        seconds = child(["env", "-C", str(self.scratch), *argv]).seconds
        report = json.loads((self.scratch / "reports" / f"{patches}.{run_id}.json").read_text())
        self._check("harness", patches, int(report["resolved_instances"]))
        return seconds

    def ours_cold(self) -> float:
        """Import the rows with an empty cache, and judge all patches."""
        self._env = {"AGENTBENCH_CACHE": str(self.scratch / uuid4().hex)}
        argv = [
            sys.executable, "-m", "agentbench", "tasks", "import", "swebench",
            str(self.scratch / "plain.jsonl"), "--repos", str(self.options.repos), "--no-prove",
            "--environment", "recipes", "--out", str(self.scratch / "tasks"), "--replace", "-q",
        ]  # fmt: skip
        imported = child(argv, env=self._env).seconds
        return imported + self.ours("gold", "off") + self.ours("noop", "off")

    def ours(self, patches: str, controls: str) -> float:
        """Judge one kind of patch with agentbench."""
        run_id = uuid4().hex
        argv = [
            sys.executable, "-m", "agentbench", "run", str(self.scratch / "tasks"), "--sandbox",
            "docker", "--agent", f"predictions:{self.scratch / patches}.jsonl", "-j", str(_JOBS),
            "--integrity-controls", controls, "--runs-dir", str(self.scratch / "runs"), "--run-id",
            run_id, "-q",
        ]  # fmt: skip
        seconds = child(argv, env=self._env).seconds
        lines = (self.scratch / "runs" / run_id / "attempts.jsonl").read_text().splitlines()
        self._check("agentbench", patches, sum(json.loads(line)["resolved"] for line in lines))
        return seconds

    def _check(self, side: str, patches: str, resolved: int) -> None:
        expected = len(self.rows) if patches == "gold" else 0
        if resolved != expected:
            raise SystemExit(f"{side}: {resolved} of {patches} resolved, expected {expected}")


def _prediction(row: dict[str, object], name: str) -> dict[str, object]:
    patch = row["patch"] if name == "gold" else _USELESS
    return {
        "instance_id": row["instance_id"], "model_name_or_path": name, "model_patch": patch,
    }  # fmt: skip


if __name__ == "__main__":
    main()
