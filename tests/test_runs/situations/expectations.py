"""Compares a run of a situation with the result that is right."""

from agentbench.scoring.evidence import PytestOutcome, ReportTrust


def check_run(run, situation):
    """Assert that a run was told as what it was."""
    result = run.result
    assert result.outcome is situation.outcome, result.text_output
    assert outcomes_of(result) == situation.tests, result.text_output
    assert [place_of(each) for each in result.collection_errors] == list(situation.errors)
    assert bool(run.facts.internals_changed) == situation.forged
    assert run.trust is ReportTrust.EXTERNAL_REPORT
    assert run.node_ids == situation.listed
    if situation.exit_zero is not None:
        assert (result.exit_code == 0) == situation.exit_zero
    if situation.complete is not None:
        assert result.complete == situation.complete
    for node_id, part in situation.messages.items():
        assert part in message_of(result, node_id)


def has_begun(run, situation):
    """Whether a run got as far as the situation needs, on a machine however slow."""
    if not situation.limits:
        return run.result.outcome is not PytestOutcome.TIMEOUT
    return outcomes_of(run.result).keys() >= situation.tests.keys()


def outcomes_of(result):
    found = {}
    for case in result.tests:
        found.setdefault(case.node_id, []).append(case.outcome.value)
    return {node_id: ", ".join(outcomes) for node_id, outcomes in found.items()}


def place_of(error):
    line = error.fact.line if error.fact is not None else None
    return error.file if line is None else f"{error.file}:{line}"


def message_of(result, node_id):
    if node_id:
        return next(case.message or "" for case in result.tests if case.node_id == node_id)
    errors = [error.message for error in result.collection_errors]
    return "\n".join(filter(None, (result.detail, result.spawn_error, *errors)))
