"""The way of somebody who has SWE-bench's files: import, predictions, its report; in Docker.

Held against SWE-bench's own tool from the package index, which grades the very logs of our runs.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import pytest

from agentbench.runs.store.store import RunStore
from agentbench.taxonomy import StageName
from tests.cli.conftest import call
from tests.extensions.swebench.e2e.real_instances import FEW, RECIPES, UPGRADES, make_instance
from tests.extensions.swebench.e2e.swebench_tool import Tool
from tests.extensions.swebench.instances import write_lines
from tests.tiers import Tier, chosen_tier

pytestmark = [pytest.mark.first, pytest.mark.docker]

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
OUTCOMES = {
    "gold": "resolved",
    "empty": "empty_patch",
    "none": "empty_patch",
    "useless": "unresolved",
    "unfit": "error",
}
"""What a kind of answer comes to."""
JUDGED = {"gold", "useless"}
"""The kinds that are tried out, and leave a log of the tests."""


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

    def logs(self, model: str, names: Collection[str]) -> dict[str, str]:
        """What pytest printed for these instances, each of which was judged."""
        store = RunStore.open(self.folder / "runs" / model)
        ids = {one["instance_id"].lower(): one["instance_id"] for one in self.instances}
        found = {}
        for record in store.latest():
            if ids[record.task_id] not in names:
                continue
            final = next((s for s in record.stages if s.name is StageName.FINAL_TEST), None)
            assert final is not None
            assert final.log is not None
            log = (store.folder_of(record) / final.log).read_text()
            found[ids[record.task_id]] = _STAMP.sub("", _CUT.sub("", log))
        return found


@pytest.fixture(scope="module")
def benchmark(request, tmp_path_factory):
    pytest.importorskip("agentbench.extensions.releases", reason="reads releases of packages")
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
    "kinds",
    [
        ("gold",),
        ("useless", "unfit"),
        *(
            pytest.param((kind,), marks=pytest.mark.soak)
            for kind in ("empty", "none", "useless", "unfit")
        ),
    ],
    ids="-".join,
)
def test_predictions_are_judged_and_reported_as_by_swe_bench_s_own_tool(benchmark, tmp_path, kinds):
    model = "-".join(kinds)
    kind_of = dict(zip((one["instance_id"] for one in benchmark.instances), cycle(kinds)))
    predictions = benchmark.predict(
        model, {name: answers(benchmark, kind)[name] for name, kind in kind_of.items()}
    )
    ours, our_instances = benchmark.judge(model)
    judged = {name for name, kind in kind_of.items() if kind in JUDGED}
    logs = benchmark.logs(model, judged)
    assert set(logs) == judged
    theirs, their_instances = benchmark.tool.report(
        tmp_path, benchmark.instances, predictions, logs
    )
    for kind in kinds:
        expected = sorted(name for name, its in kind_of.items() if its == kind)
        assert ours[f"{OUTCOMES[kind]}_ids"] == expected
    assert list(ours) == list(theirs)
    assert ours == theirs
    assert as_its_parser_reads(our_instances, logs) == as_its_parser_reads(their_instances, {})
    assert set(our_instances) == judged


# In the gate with an empty patch, whose outcome nothing else there tries.
@pytest.mark.parametrize("kind", ["empty", pytest.param("gold", marks=pytest.mark.soak)])
def test_an_instance_without_a_prediction_is_incomplete_there_and_here(benchmark, tmp_path, kind):
    name, model = benchmark.instances[0]["instance_id"], f"one-{kind}"
    predictions = benchmark.predict(model, {name: answers(benchmark, kind)[name]})
    ours, _ = benchmark.judge(model)
    logs = benchmark.logs(model, {name} if kind in JUDGED else ())
    theirs, _ = benchmark.tool.report(tmp_path, benchmark.instances, predictions, logs)
    assert ours == theirs
    assert ours[f"{OUTCOMES[kind]}_ids"] == [name]
    assert len(ours["incomplete_ids"]) == len(benchmark.instances) - 1
