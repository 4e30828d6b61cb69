from agentbench.importers.task_folders import import_folders
from agentbench.importers.terminal_bench import TERMINAL_BENCH
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from tests.importers.terminal_bench.terminal_folders import terminal_folder


def test_the_good_rest_is_written_though_one_is_refused(tmp_path):
    terminal_folder(tmp_path / "theirs" / "hello")
    terminal_folder(tmp_path / "theirs" / "broken", {"task.yaml": "a: ["})
    imported = import_folders(TERMINAL_BENCH, [tmp_path / "theirs"], tmp_path / "ours")
    assert imported.written == [tmp_path / "ours" / "hello"]
    (refusal,) = imported.rejections
    assert refusal.where.endswith("broken/task.yaml")
    task = load_task(imported.written[0], mirrors=Mirrors(tmp_path / "mirrors"))
    assert task.answer_key.verifier is not None
    assert task.answer_key.verifier.command == "sh /tests/agentbench-verify.sh"
    assert (task.folder / "environment" / "greet.sh").stat().st_mode & 0o100
