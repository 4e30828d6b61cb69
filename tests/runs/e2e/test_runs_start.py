import pytest

from agentbench.agents.reference import NoopAgent
from agentbench.errors import UnavailableError, UsageError
from agentbench.runs.start import start_run
from agentbench.runs.store.store import RunStore
from agentbench.sandbox.registry import select_back_end
from agentbench.tasks.task import TaskEnvironment
from tests.fakes.unreliable_provider import UnreliableProvider

pytestmark = pytest.mark.full


def test_a_run_knows_all_that_it_was_asked_before_its_first_attempt(task, options, provider):
    run = start_run([task], options.replace(attempts=2, max_cost_usd=3.0))
    kept = RunStore.open(run.store.folder).configuration()
    assert kept == run.configuration
    assert (kept.agent, kept.model, kept.attempts, kept.max_cost_usd) == ("noop", None, 2, 3.0)
    assert kept.sandbox == provider.name
    assert kept.sandbox_facts == dict(provider.describe())
    assert [(entry.id, entry.digest) for entry in kept.tasks] == [(task.id, task.digest)]
    assert [(entry.image, entry.python) for entry in kept.tasks] == [
        (None, provider.describe()["python"])
    ]
    assert kept.ending is None
    assert [item.attempt for item in run.planned] == [1, 2]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"agent": None}, "--agent is missing: choose --agent oracle"),
        ({"agent": object()}, "--agent builtins:object: expected an object with solve"),
        ({"sandbox": "castle"}, "unknown sandbox 'castle'"),
    ],
)
def test_what_is_wrong_is_said_before_a_folder_is_made(task, options, wrong, said):
    with pytest.raises(UsageError, match=said.replace(".", r"\.").replace("(", r"\(")):
        start_run([task], options.replace(**wrong))
    assert not options.runs_dir.exists()


def test_an_image_that_is_not_there_is_said_before_a_folder_is_made(task, options):
    odd = task.replace(environment=TaskEnvironment(image="no/such:image"))
    with pytest.raises(UnavailableError, match=f"{task.id}: .*no/such:image"):
        start_run([task, odd], options)
    assert not options.runs_dir.exists()


def test_a_run_in_containers_names_each_tasks_image_and_python(task, options):
    own = task.replace(environment=TaskEnvironment(image="own:1"))
    run = start_run([task, own], options.replace(sandbox=UnreliableProvider()))
    kept = RunStore.open(run.store.folder).configuration()
    assert [(entry.image, entry.python) for entry in kept.tasks] == [
        ("agentbench/python:3.11", "3.11"),
        ("own:1", None),
    ]
    assert run.planned.tasks[0].environment.image == "agentbench/python:3.11"


def test_an_agent_that_is_not_trusted_needs_a_word_to_run_unsandboxed(task, options, tmp_path):
    process = select_back_end("process", cache_dir=tmp_path).provider
    unwalled = options.replace(sandbox=UnreliableProvider())
    assert unwalled.sandbox.name == process.name
    command = unwalled.replace(agent="command", agent_command="true")
    with pytest.raises(UsageError, match="--allow-unsandboxed"):
        start_run([task], command)
    for allowed in (
        command.replace(allow_unsandboxed=True),
        unwalled.replace(agent="oracle"),
        unwalled.replace(agent=NoopAgent()),
    ):
        assert start_run([task], allowed).configuration.sandbox == "process"


def test_a_model_s_predictions_are_no_code_of_the_user_s_own(task, options, tmp_path):
    path = tmp_path / "preds.json"
    path.write_text("[]")
    unwalled = options.replace(sandbox=UnreliableProvider(), agent=f"predictions:{path}")
    with pytest.raises(UsageError, match="--allow-unsandboxed"):
        start_run([task], unwalled)
