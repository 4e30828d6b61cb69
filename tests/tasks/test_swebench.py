import pytest

from agentbench.tasks.dataset_rows import task_id_of
from agentbench.tasks.task_file import is_task_id


@pytest.mark.parametrize(
    ("instance_id", "task_id"),
    [
        ("scikit-learn__scikit-learn-10297", "scikit-learn__scikit-learn-10297"),
        ("Project-MONAI__MONAI-1010", "project-monai__monai-1010"),
        ("a__b.1f2.func_pm/x~1", "a__b.1f2.func_pm-x-1"),
        ("\u00c4x", "-x"),
    ],
)
def test_an_id_is_lowered_and_what_no_task_s_id_may_hold_is_a_dash(instance_id, task_id):
    assert task_id_of(instance_id) == task_id
    assert is_task_id(task_id) is not task_id.startswith("-")
