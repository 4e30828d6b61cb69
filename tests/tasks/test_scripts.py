from agentbench.tasks.scripts import SolutionScript, Verifier
from agentbench.tasks.task_file import SolutionTable, VerifierTable


def test_the_table_of_the_file_and_the_value_agree_on_every_default():
    assert Verifier(**VerifierTable().model_dump()) == Verifier()
    assert SolutionScript(**SolutionTable().model_dump()) == SolutionScript()
