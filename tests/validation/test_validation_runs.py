from agentbench.runs.options import RunOptions
from agentbench.validation.task_proof import run_proofs, run_to_end
from tests.fakes.staging import local_provider, small_task
from tests.validation.test_task_validation import follow


def options_of(tmp_path):
    return RunOptions(sandbox=local_provider(), runs_dir=tmp_path / "runs")


def test_each_task_is_tried_by_the_oracle_and_by_nobody(tmp_path):
    tasks = {tmp_path / name: small_task(tmp_path / name) for name in "ab"}
    options = options_of(tmp_path)
    shown = run_proofs(tasks, options, follow)
    assert [(path.name, one.runs, one.faults, one.flaky) for path, one in shown.items()] == [
        ("a", 2, (), ()),
        ("b", 2, (), ()),
    ]
    assert all(one.sandbox == local_provider().name for one in shown.values())
    assert not any(one.undecided for one in shown.values())
    (validation,) = options.runs_dir.iterdir()
    assert validation.name == "validation"
    names = sorted(folder.name for folder in validation.iterdir())
    assert [name.rpartition("-")[2] for name in names] == ["noop", "oracle"]
    assert all(name.startswith("validate-") for name in names)


def test_what_the_infrastructure_lost_decides_nothing(tmp_path):
    lost = small_task(tmp_path / "lost", environment="memory_mib = 64\ndisk_mib = 64\nfiles = 1000")
    (tmp_path / "lost" / "tests.patch").write_text("")
    hidden = small_task(tmp_path / "big", hidden=f"DATA = '''{'x' * (80 << 20)}'''\n")
    big = hidden.model_copy(update={"environment": lost.environment})
    options = options_of(tmp_path).replace(retries=0)
    shown = run_proofs({tmp_path / "big": big}, options, follow)
    records = run_to_end([big], options.replace(agent="noop"), follow).records
    (one,) = shown.values()
    assert one.undecided == any(record.fault == "infrastructure" for record in records)
    assert one.faults


def test_records_are_those_of_the_task(tmp_path):
    tasks = [small_task(tmp_path / name) for name in "ab"]
    made = run_to_end(tasks, options_of(tmp_path).replace(agent="oracle"), follow)
    assert [record.task_id for record in made.of(tasks[1])] == ["b"]
