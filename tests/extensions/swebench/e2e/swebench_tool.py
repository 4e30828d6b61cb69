"""SWE-bench's own grading: its package from the index, run in a process of its own.

Of the package only the modules that grade and report are used, so that a hundred others which its
command needs are not installed. They are imported as they are, past their packages' `__init__`.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

VERSION = "5.0.2"

_DRIVER = """\
import json, sys, types
from pathlib import Path

root, job = sys.argv[1], json.loads(sys.stdin.read())
sys.path.insert(0, root)
for name in ("swebench", "swebench.harness", "swebench.image_builder"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [f"{root}/{name.replace('.', '/')}"]

from swebench.harness.grading import get_eval_report
from swebench.harness.log_parsers import PARSER_REGISTRY
from swebench.harness.reporting import make_run_report
from swebench.types import TestSpec

if "log" in job:
    print(json.dumps(PARSER_REGISTRY["parse_log_pytest"](job["log"], None)))
    sys.exit()

def spec_of(instance):
    return TestSpec(
        instance_id=instance["instance_id"], image="", eval_script_list=[],
        repo=instance["repo"], version=instance["version"],
        FAIL_TO_PASS=json.loads(instance["FAIL_TO_PASS"]),
        PASS_TO_PASS=json.loads(instance["PASS_TO_PASS"]),
        log_parser="parse_log_pytest", eval_type="pass_and_fail",
    )

for instance in job["instances"]:
    prediction = job["predictions"].get(instance["instance_id"])
    model = prediction["model_name_or_path"] if prediction else ""
    folder = Path("logs/run_evaluation", job["run_id"], model, instance["instance_id"])
    log = folder / "test_output.txt"
    if log.exists():
        report = get_eval_report(spec_of(instance), prediction, str(log), True)
        (folder / "report.json").write_text(json.dumps(report))
make_run_report(job["predictions"], job["instances"], job["run_id"])
"""


class Tool:
    """The package, unpacked in a folder."""

    def __init__(self, folder: Path) -> None:
        self._root = folder
        wanted = [f"swebench=={VERSION}", "unidiff"]
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--target", str(folder), *wanted], check=True, capture_output=True)

    def statuses(self, log: str) -> dict[str, str]:
        """What its parser of logs makes of pytest's output."""
        return cast("dict[str, str]", json.loads(self._call({"log": log}, self._root)))

    def report(
        self,
        folder: Path,
        instances: Sequence[Mapping[str, object]],
        predictions: Mapping[str, Mapping[str, object]],
        logs: Mapping[str, str],
    ) -> tuple[dict[str, object], dict[str, object]]:
        """Its report of a run and of each instance, from what pytest printed for each."""
        for name, log in logs.items():
            place = self._place(folder, predictions, name)
            place.mkdir(parents=True)
            text = f">>>>> Start Test Output\n{log}\n>>>>> End Test Output\n"
            (place / "test_output.txt").write_text(text)
        job = {"instances": instances, "predictions": predictions, "run_id": "it"}
        self._call(job, folder)
        (path,) = folder.glob("*.it.json")
        each: dict[str, object] = {}
        for found in sorted(folder.rglob("report.json")):
            each |= json.loads(found.read_text())
        return json.loads(path.read_text()), each

    def _place(
        self, folder: Path, predictions: Mapping[str, Mapping[str, object]], name: str
    ) -> Path:
        model = str(predictions[name]["model_name_or_path"])
        return folder / "logs" / "run_evaluation" / "it" / model / name

    def _call(self, job: object, cwd: Path) -> str:
        done = subprocess.run(
            [sys.executable, "-c", _DRIVER, str(self._root)],
            cwd=cwd,
            input=json.dumps(job),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout
