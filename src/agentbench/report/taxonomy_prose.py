"""The prose of docs/failure_taxonomy.md; its tables are made from the enum."""

TITLE = """\
# Failure taxonomy

<!-- Generated: python -m agentbench.report.taxonomy_page > docs/failure_taxonomy.md -->

This page describes the fifteen reasons for which an attempt can fail: the codes of the enum
`FailureReason`.
"""

OVERVIEW = """\
## Overview

Success is `None` (`null` in JSON) and not a code; the enum holds failures only. There are two
layers:

- The **pure mapping**: `FailureReason.from_pytest_exit_code` and `FailureReason.from_stage`. These
  tables use only an exit code, a stage and an exception.
- The **evidence**: `classify(stage, evidence)` and `judge(expected, stages)`. They first use the
  evidence of a run (who ended the command, what pytest reported, how the agent stopped), and
  otherwise the pure mapping.

`agentbench explain CODE` prints a row of these tables on the terminal.
"""

PRECEDENCE = """\
If several failures apply, the one with the lowest number is the primary one
(`FailureReason.resolve`). Failures of earlier stages have priority.
"""

MAPPING = """\
### From a stage

`FailureReason.from_stage(stage, exit_code, exception=None)` decides in this order:

1. **Exceptions**: `KeyboardInterrupt` gives `INTERRUPTED`, an exception with a reason gives this
   reason (decision 1), and any other exception gives `UNKNOWN`.
2. **Exit codes of timeouts** (124, 137): `SETUP_TIMEOUT` in `setup`, `TIMEOUT` in every other
   stage.
3. **The stage**, as listed below. An unknown stage is a `ValueError` that lists the six stages.
"""

USAGE = """\
## Usage examples

```python
>>> from agentbench.scoring import FailureReason

>>> # Map pytest's exit code
>>> FailureReason.from_pytest_exit_code(1)
<FailureReason.TESTS_FAILED: 'TESTS_FAILED'>

>>> # Map a stage and an exit code
>>> FailureReason.from_stage("setup", 1)
<FailureReason.SETUP_FAILED: 'SETUP_FAILED'>

>>> # Timeout during setup
>>> FailureReason.from_stage("setup", 124)
<FailureReason.SETUP_TIMEOUT: 'SETUP_TIMEOUT'>

>>> # Valid baseline (tests fail as expected): None, not a failure
>>> FailureReason.from_stage("baseline_run", 1) is None
True

>>> # Compare precedence
>>> reason1, reason2 = FailureReason.TIMEOUT, FailureReason.TESTS_FAILED
>>> if reason1.precedence < reason2.precedence:
...     primary_reason = reason1
>>> primary_reason
<FailureReason.TIMEOUT: 'TIMEOUT'>

>>> # Or let it be resolved
>>> FailureReason.resolve([reason2, reason1]) is primary_reason
True

```
"""

FAULTS = """\
## Faults

Every failure is the fault of the task, the infrastructure or the agent. Only infrastructure
failures are retried. Reports give the resolved rate twice: over all attempts, and over the
attempts that were not lost to the task or the infrastructure. No attempt is omitted without a
note. A failure that an agent can cause therefore never counts as the fault of the infrastructure.
"""

OVERRIDES = """\
Evidence overrides the default:

- **agent**: any command or report that fails in `agent_run` or `final_test`, including lack of
  memory or disk and fatal signals, unless the sandbox itself was lost; an exception of unknown
  kind in these two stages; an interrupt other than the user's Ctrl+C; a model that refused or got
  too long a context.
- **infrastructure**: a clone, checkout or set-up whose output ends in a network failure; a clone
  or checkout that timed out; a sandbox or engine that was lost in any stage.
- **task**: a set-up or baseline that ran out of memory or disk, was killed or timed out; a pytest
  that started neither in the baseline nor in the final test.
"""

DECISIONS = """\
## Decisions

Real runs have more evidence than an exit code. In six cases the tables above leave a question
open.

1. **An exception may specify its reason.** `KeyboardInterrupt` is `INTERRUPTED` in any stage. An
   error of the sandbox or of the container engine's client is `SANDBOX_ERROR`, an error of the
   model `LLM_ERROR`, of a tool `TOOL_ERROR`, of git `GIT_CLONE_FAILED` or `GIT_CHECKOUT_FAILED`.
   Only an unforeseen exception is `UNKNOWN`. *Reason:* an engine that is down causes an exception,
   so "the engine is down, in any stage" would otherwise be unreachable.
2. **124 and 137 depend on their origin.** After agentbench's own deadline they are `TIMEOUT`
   (`SETUP_TIMEOUT` in set-up). After the kernel's OOM killer they are `SANDBOX_ERROR`, with the
   limit in the detail. A 137 from neither keeps the reason of the table, and the detail says that
   the cause is unknown. A command that survives a child killed by the OOM killer is believed if it
   exited 0, or 1 with a complete report. A command that agentbench killed because its sandbox
   exceeded its `disk_mib` or `files` is `SANDBOX_ERROR`, too, and the detail names the limit.
   *Reason:* the same number means too slow and too big, which have different remedies.
3. **pytest's exit code 2 does not only mean Ctrl+C.** A file that cannot be collected exits with
   2, 4 or 1, depending on how it was requested. A failed collector in the report is
   `INTERNAL_ERROR` at any exit code, and the detail names the error, the file and the responsible
   line in the project. Exit code 2 without a failed collector is `INTERRUPTED`. The fault is the
   agent's, unless the baseline has the same error in a file without a test to fix: then it is the
   task's. *Reason:* a broken import is not an interrupt by a user, and an import that fails before
   and after may be the bug itself.
4. **A baseline may fail for the wrong reason.** In the table any non-zero exit is a valid
   baseline. The attempt has a warning if the exit code is not 1, or if no listed test ran or some
   were skipped; `agentbench validate` rejects such a task. A baseline in which every listed test
   passes is `BASELINE_NOT_FAILING`, whatever else failed. *Reason:* a doubt about a task should
   not cost an attempt, and a doubtful task should not be accepted.
5. **The final test decides.** It runs on the files that the agent left, however the agent stopped.
   If it passes by evidence, the attempt is resolved and has no reason. Otherwise every terminal
   failure of every stage is a candidate, and precedence selects the primary one. A tool or model
   call from which the agent recovered is not a candidate. After an agent that crashed (`UNKNOWN`,
   or its own interrupt) the result of the final test is a consequence and not a candidate. A
   failure in a stage before the agent's ends the attempt. *Reason:* a fix that was written before
   the step limit is a fix, a broken agent should not look like one that tried, and no agent should
   be paid for a broken task.
6. **Errors of the MCP server have both forms.** The outer form is the structured answer without
   internal details; it contains the JSON-RPC code with its diagnostics. *Reason:* two
   specifications ask for one form each, and clients of both exist. This changes no reason here: a
   failed collector is a successful answer of the tool and `INTERNAL_ERROR` for the judge.
"""

RESOLVED = """\
## What counts as resolved

Exit code 0 is not sufficient. An attempt is resolved if the trusted report of the final test is
complete, its exit code agrees with it, every file was collected, and these conditions hold:

- Each FAIL_TO_PASS test occurs once, with one set-up, one call and one teardown, and passed.
  Missing, skipped, xfailed, xpassed and deselected tests have not passed.
- Each PASS_TO_PASS test occurs and did not fail. (A test in both lists must be fixed.)
- If a task lists no tests to fix: the exit code is 0, at least one test passed, none failed, and
  every test that failed in the baseline now passes.

If a task lists its own tests, other failing tests do not matter. Exit code 0 without a complete
report is `INTERNAL_ERROR`, without the listed tests `TESTS_FAILED`, and without any collected test
`NO_TESTS_COLLECTED`. An attempt that would be resolved but has a critical finding is quarantined:
not resolved, `TESTS_FAILED`, and listed separately.
"""
