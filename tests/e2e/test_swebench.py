"""The way of somebody who has SWE-bench's files: import, predictions, its report; in Docker.

Held against SWE-bench's own tool from the package index, which grades the very logs of our runs.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentbench.runs.store import RunStore
from agentbench.scoring.evidence import StageName
from tests.cli.conftest import call
from tests.e2e.real_instances import FEW, RECIPES, UPGRADES, make_instance
from tests.e2e.swebench_tool import Tool
from tests.tasks.importers.swebench.instances import write_lines
from tests.tiers import Tier, chosen_tier

pytestmark = pytest.mark.docker

# A log has a stamp before each piece of output as it came, also within a line of the summary. An id
# may be cut before a "=": a line of the report's own begins with more of them, or with a blank.
_CUT = re.compile(
    r"\n\[ *\d+\.\d{3} stdout\] (?!PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|SUB|==|= )"
)
_STAMP = re.compile(r"^\[ *\d+\.\d{3} (?:stdout|stderr)\] ", re.MULTILINE)
_SUBFAILED = re.compile(r"^SUBFAILED\S* (\S+)", re.MULTILINE)
UNFIT = "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-no such line\n+x\n"
USELESS = (
    "diff --git a/NOTES b/NOTES\nnew file mode 100644\n"
    "--- /dev/null\n+++ b/NOTES\n@@ -0,0 +1 @@\n+nothing\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """Instances of real packages, imported and proven."""

    folder: Path
    instances: tuple[Mapping[str, str], ...]
    tool: Tool

    def predict(
        self, model: str, patches: Mapping[str, str | None]
    ) -> dict[str, dict[str, object]]:
        """Predictions in a file of SWE-bench's form."""
        entries = {
            name: {"instance_id": name, "model_name_or_path": model, "model_patch": patch}
            for name, patch in patches.items()
        }
        write_lines(self.folder / f"{model}.jsonl", *entries.values())
        return entries

    def judge(self, model: str) -> tuple[dict[str, object], dict[str, object]]:
        """Our report of a run of predictions, and that of each instance."""
        runs, each = self.folder / "runs", self.folder / model
        said = call(
            *("run", self.folder / "tasks", "--agent", f"predictions:{self.folder}/{model}.jsonl"),
            *("--sandbox", "docker", "--runs-dir", runs, "--run-id", model, "--quiet"),
            *("--integrity-controls", "off"),
        )
        assert said.code == 0, said.stderr
        said = call(
            *("report", model, "--runs-dir", runs, "--format", "swebench", "--instances", each)
        )
        assert said.code == 0, said.stderr
        documents = {}
        for path in each.glob("*/report.json"):
            documents |= json.loads(path.read_text())
        return json.loads(said.stdout), documents

    def logs(self, model: str) -> dict[str, str]:
        """What pytest printed for each instance that was judged."""
        store = RunStore.open(self.folder / "runs" / model)
        ids = {one["instance_id"].lower(): one["instance_id"] for one in self.instances}
        found = {}
        for record in store.latest().records:
            final = next((s for s in record.stages if s.name is StageName.FINAL_TEST), None)
            assert final is not None
            assert final.log is not None
            log = (store.folder_of(record) / final.log).read_text()
            found[ids[record.task_id]] = _STAMP.sub("", _CUT.sub("", log))
        return found


@pytest.fixture(scope="module")
def benchmark(request, tmp_path_factory):
    upgrades = UPGRADES if chosen_tier(request.config) is Tier.SOAK else FEW
    folder = tmp_path_factory.mktemp("swebench")
    tool = Tool(folder / "tool")
    instances = tuple(make_instance(each, folder / "repos", folder, tool) for each in upgrades)
    write_lines(folder / "instances.jsonl", *instances)
    (folder / "recipes.toml").write_text(RECIPES)
    said = call(
        *("tasks", "import", "swebench", folder / "instances.jsonl", "--out", folder / "tasks"),
        *("--repos", folder / "repos", "--recipes", folder / "recipes.toml"),
        *("--sandbox", "docker", "--runs-dir", folder / "runs", "--repeat", "1", "--quiet"),
    )
    assert said.code == 0, f"{said.stdout}{said.stderr}"
    return Benchmark(folder=folder, instances=instances, tool=tool)


def answers(benchmark, kind):
    """What a model answers: everything right, nothing, something useless, or what does not fit."""
    patches = {
        "gold": lambda one: one["patch"],
        "empty": lambda _one: "",
        "none": lambda _one: None,
        "useless": lambda _one: USELESS,
        "unfit": lambda _one: UNFIT.format("setup.py"),
    }
    return {one["instance_id"]: patches[kind](one) for one in benchmark.instances}


def as_its_parser_reads(instances, logs):
    """Reports of instances, with tests as SWE-bench's parser sees them: it knows of no subtests.

    pytest 9 says PASSED of a test whose subtests failed, and tells those apart. We count the test
    as failed, as pytest's exit code does.
    """
    read = {}
    for name, report in instances.items():
        passed = set(_SUBFAILED.findall(logs.get(name, "")))
        read[name] = {**report, "tests_status": {}}
        for kind, halves in report["tests_status"].items():
            failure = set(halves["failure"]) - passed
            success = {*halves["success"], *halves["failure"]} - failure
            read[name]["tests_status"][kind] = (success, failure)
    return read


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("gold", "resolved"),
        ("empty", "empty_patch"),
        # What makes no patch of it are the predictions, whose own tests are in the gate.
        pytest.param("none", "empty_patch", marks=pytest.mark.soak),
        ("useless", "unresolved"),
        ("unfit", "error"),
    ],
)
def test_predictions_are_judged_and_reported_as_by_swe_bench_s_own_tool(
    benchmark, tmp_path, kind, outcome
):
    predictions = benchmark.predict(kind, answers(benchmark, kind))
    ours, our_instances = benchmark.judge(kind)
    judged = outcome in {"resolved", "unresolved"}
    logs = benchmark.logs(kind) if judged else {}
    theirs, their_instances = benchmark.tool.report(
        tmp_path, benchmark.instances, predictions, logs
    )
    assert ours[f"{outcome}_ids"] == sorted(predictions)
    assert list(ours) == list(theirs)
    assert ours == theirs
    assert as_its_parser_reads(our_instances, logs) == as_its_parser_reads(their_instances, {})
    assert set(our_instances) == (set(predictions) if judged else set())


def test_an_instance_without_a_prediction_is_incomplete_there_and_here(benchmark, tmp_path):
    name = benchmark.instances[0]["instance_id"]
    predictions = benchmark.predict("one", {name: benchmark.instances[0]["patch"]})
    ours, _ = benchmark.judge("one")
    logs = {name: benchmark.logs("one")[name]}
    theirs, _ = benchmark.tool.report(tmp_path, benchmark.instances, predictions, logs)
    assert ours == theirs
    assert len(ours["incomplete_ids"]) == len(benchmark.instances) - 1
