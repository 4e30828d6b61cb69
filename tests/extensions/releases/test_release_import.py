import pytest

from agentbench.cli.tasks.validation import follow_runs
from agentbench.errors import UnavailableError, UsageError
from agentbench.extensions.releases.package_index import (
    PackageIndex,
    PipSettings,
    parse_requested_releases,
    read_pip_settings,
)
from agentbench.extensions.releases.release_import import (
    RELEASE_LOG,
    ImportedPair,
    ReleaseImportSettings,
    import_releases,
)
from agentbench.importers.candidates import CandidateOutcome
from agentbench.runs.options import RunOptions
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.validation.task_validation import ValidationSettings
from tests.extensions.releases.local_index import NEW, OLD
from tests.fakes.staging import local_provider
from tests.needed import INDEX

pytestmark = pytest.mark.full


def test_a_pair_is_named_as_on_the_command_line():
    whole = ImportedPair(package="demo", old="1.0", new="1.1", fate=CandidateOutcome.KEPT)
    assert whole.pair == "demo 1.0 1.1"
    assert ImportedPair(package="demo", fate=CandidateOutcome.REJECTED).pair == "demo"


QUIETLY = follow_runs(quiet=True, verbose=False)


def gate(tmp_path, sandbox):
    options = RunOptions(attempts=1, sandbox=sandbox, runs_dir=tmp_path / "runs", jobs=1)
    return ValidationSettings(options=options, write_ids=True, record=True)


def requested(*lines):
    return [parse_requested_releases(line.split()) for line in lines]


def test_valid_pairs_become_tasks_and_others_have_reasons(index, tmp_path):
    index.add("unfixed", "1.0", OLD)
    index.add("unfixed", "1.1", {**NEW, "demo.py": NEW["demo.py"].replace("-1", "-3")})
    out = tmp_path / "tasks"
    result = ReleaseImportSettings(
        index=index.client, out=out, gate=gate(tmp_path, local_provider())
    )
    entries = import_releases(requested("demo", "absent", "unfixed 1.0 1.1"), result, QUIETLY)
    assert [entry.fate for entry in entries] == [
        CandidateOutcome.KEPT,
        CandidateOutcome.REJECTED,
        CandidateOutcome.REJECTED,
    ]
    assert (entries[0].task, entries[0].fail_to_pass) == (str(out / "demo-1.1"), 1)
    assert entries[1].reasons == ("package: the index has none of this name",)
    assert entries[2].run
    assert "makes no failing test pass" in entries[2].reasons[0]
    assert sorted(p.name for p in out.iterdir()) == ["demo-1.1", RELEASE_LOG]
    key = load_task(out / "demo-1.1", mirrors=Mirrors(tmp_path / "mirrors")).answer_key
    assert key.fail_to_pass == ("test_demo.py::test_the_last_item_is_given",)
    assert key.pass_to_pass == ("test_demo.py::test_version",)
    lines = (out / RELEASE_LOG).read_text().splitlines()
    assert sorted(map(str, entries)) == sorted(
        str(ImportedPair.model_validate_json(line)) for line in lines
    )


def test_tasks_are_written_without_validation(index, tmp_path):
    result = ReleaseImportSettings(index=index.client, out=tmp_path / "tasks", gate=None)
    (entry,) = import_releases(requested("demo"), result, QUIETLY)
    assert entry.fate is CandidateOutcome.KEPT
    assert (tmp_path / "tasks/demo-1.1/task.toml").is_file()


def test_existing_release_task_is_replaced_only_on_request(index, tmp_path):
    out = tmp_path / "tasks"
    there = out / "demo-1.1" / "mine"
    there.mkdir(parents=True)
    result = ReleaseImportSettings(index=index.client, out=out, gate=None)
    (entry,) = import_releases(requested("demo"), result, QUIETLY)
    assert "already exists" in entry.reasons[0]
    assert there.is_dir()
    again = ReleaseImportSettings(index=index.client, out=out, gate=None, replace=True)
    (entry,) = import_releases(requested("demo"), again, QUIETLY)
    assert entry.fate is CandidateOutcome.KEPT
    assert not there.exists()


def test_unavailable_index_leaves_pair_undecided(tmp_path):
    with PackageIndex(PipSettings(index="http://127.0.0.1:9/")) as client:
        result = ReleaseImportSettings(index=client, out=tmp_path / "tasks", gate=None)
        (entry,) = import_releases(requested("demo 1.0 1.1"), result, QUIETLY)
    assert entry.fate is CandidateOutcome.UNDECIDED
    assert (entry.old, entry.new) == ("1.0", "1.1")


def test_unwritable_folder_is_reported(index, tmp_path):
    (tmp_path / "file").write_text("")
    result = ReleaseImportSettings(index=index.client, out=tmp_path / "file" / "tasks", gate=None)
    with pytest.raises(UsageError, match="cannot be written"):
        import_releases(requested("demo"), result, QUIETLY)


@pytest.mark.soak  # takes the same ways as a package of the local index
@pytest.mark.docker
def test_a_real_package_becomes_a_good_task_in_docker(tmp_path):
    with PackageIndex(read_pip_settings()) as client:
        try:
            client.pair(parse_requested_releases(["termcolor"]))
        except UnavailableError as error:
            INDEX.refuse(str(error))
        result = ReleaseImportSettings(
            index=client, out=tmp_path / "tasks", gate=gate(tmp_path, "docker")
        )
        (entry,) = import_releases(requested("termcolor 3.2.0 3.3.0"), result, QUIETLY)
    assert entry.fate is CandidateOutcome.KEPT, entry.reasons
    assert entry.fail_to_pass > 0
