"""The prose of docs/failure_taxonomy.md; its tables are made from the enum."""

TITLE = """\
# Failure taxonomy

<!-- Generated: python -m agentbench.report.taxonomy_page > docs/failure_taxonomy.md -->

Why an attempt at a task failed, as one of the fifteen codes of the enum `FailureReason`.
"""

OVERVIEW = """\
## Overview

Success is `None` (`null` in JSON), not a code; the enum holds failures only. There are two layers:

- the **pure mapping**, `FailureReason.from_pytest_exit_code` and `FailureReason.from_stage`: tables
  that know an exit code, a stage and an exception, and nothing else;
- the **evidence**, `classify(stage, evidence)` and `judge(expected, stages)`: they ask first what a
  run left behind (who ended the command, what pytest reported, how the agent stopped) and fall
  back on the pure mapping.

`agentbench explain CODE` prints a row of these tables at the terminal.
"""

PRECEDENCE = """\
When several failures apply, the one with the lowest number is the primary one
(`FailureReason.resolve`). Failures of earlier stages dominate.
"""

MAPPING = """\
### From a stage

`FailureReason.from_stage(stage, exit_code, exception=None)` decides in this order:

1. **Exceptions**: `KeyboardInterrupt` gives `INTERRUPTED`, an exception that carries a reason gives
   that one (decision 1), any other gives `UNKNOWN`.
2. **The exit codes of timeouts** (124, 137): `SETUP_TIMEOUT` in `setup`, `TIMEOUT` in every other
   stage.
3. **The stage**, as below. An unknown stage is a `ValueError` that names the six.
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

Every failure is somebody's: the task's, the infrastructure's or the agent's. Only infrastructure
failures are retried. Reports give the resolved rate over all attempts and, beside it, over those
that were not lost to the task or the infrastructure; no attempt is dropped in silence. So nothing
that an agent can cause may count as the infrastructure's.
"""

OVERRIDES = """\
Evidence overrides the default:

- **agent**: whatever command or report ends badly in `agent_run` or `final_test`, lack of memory
  or disk and fatal signals included, unless the sandbox itself was lost; an exception of no known
  kind in these two stages; an interrupt that was not our own Ctrl+C; a model that refused or was
  given too long a context.
- **infrastructure**: a clone, checkout or set-up whose output ends in a network failure; a clone or
  checkout that ran out of time; a sandbox or engine that was lost in any stage.
- **task**: a set-up or baseline that ran out of memory or disk, was killed or timed out; a pytest
  that could start neither in the baseline nor in the final test.
"""

DECISIONS = """\
## Decisions

Real runs hold more evidence than an exit code, and in six places the tables above leave a question
open.

1. **An exception may carry its reason.** `KeyboardInterrupt` is `INTERRUPTED` in any stage. An
   error of the sandbox or of the container engine's client is `SANDBOX_ERROR`, one of the model
   `LLM_ERROR`, one of a tool `TOOL_ERROR`, one of git `GIT_CLONE_FAILED` or `GIT_CHECKOUT_FAILED`.
   Only what nobody foresaw is `UNKNOWN`. *Why:* "the engine is down, in any stage" would otherwise
   be unreachable, since an engine that is down shows itself as an exception.
2. **124 and 137 are asked who sent them.** Our own deadline: `TIMEOUT` (`SETUP_TIMEOUT` in set-up).
   The kernel's OOM killer: `SANDBOX_ERROR`, with the limit in the detail. A 137 with neither keeps
   the table's reason and says that the cause is unknown. A command that outlived a child lost to
   the OOM killer is believed if it exited 0, or 1 with a whole report. A command that we killed
   since its sandbox went over its `disk_mib` or `files` is `SANDBOX_ERROR` too, and the detail says
   which. *Why:* the same number stands for too slow and too big, which have different remedies.
3. **pytest's exit code 2 is not only Ctrl+C.** A file that cannot be collected exits 2, 4 or 1,
   depending on how it was asked for. A failed collector in the report is `INTERNAL_ERROR` at any
   exit code, and the detail names the error, the file and the line that the project is to blame
   for; exit code 2 without one is `INTERRUPTED`. It is the agent's fault, unless the baseline has
   the same error in a file without a test to fix: then it is the task's. *Why:* a broken import is
   no user at the keyboard, and an import that fails before and after may be the very bug.
4. **A baseline may fail for the wrong reason.** Any non-zero exit is a valid baseline to the table.
   The attempt carries a warning when the exit code is not 1, or when no listed test ran or some
   were skipped; `agentbench validate` fails such a task. A baseline in which every listed test
   passes is `BASELINE_NOT_FAILING`, whatever else failed. *Why:* an attempt should not be lost to a
   doubt about its task, and a task should not be kept with one.
5. **The final test decides.** It runs on whatever the agent left, however the agent stopped. If it
   passes by evidence, the attempt is resolved and has no reason. If not, every terminal failure of
   every stage is a candidate and precedence picks the primary one; a tool or model call that was
   recovered from is none. After an agent that crashed (`UNKNOWN`, or an interrupt of its own) what
   the final test shows of its work is a consequence and no candidate. A failure in a stage before
   the agent's ends the attempt. *Why:* a fix that was written before the step limit is a fix, a
   broken agent should not look like one that tried, and no agent should be paid for a broken task.
6. **Errors of the MCP server hold both shapes.** The structured answer that leaks nothing is the
   outer one; the JSON-RPC code with its diagnostics rides inside. *Why:* two documents ask for one
   each, and clients of both exist. It changes no reason here: a failed collector is a successful
   answer of the tool and `INTERNAL_ERROR` to the judge.
"""

RESOLVED = """\
## What counts as resolved

Exit code 0 is no evidence. An attempt is resolved when the trusted report of the final test is
whole, its exit code agrees with it, every file was collected, and

- each FAIL_TO_PASS test is there once, with one set-up, one call and one teardown, and passed:
  missing, skipped, xfailed, xpassed and deselected are not passed;
- each PASS_TO_PASS test is there and did not fail (an id in both lists has to be fixed);
- where a task lists no tests to fix: exit code 0, at least one test passed, none failed, and every
  test that failed in the baseline now passes.

Other failing tests do not spoil a task that lists its own. Exit code 0 without a whole report is
`INTERNAL_ERROR`, without the listed tests `TESTS_FAILED`, with nothing collected
`NO_TESTS_COLLECTED`. An attempt that would be resolved but has a critical finding is quarantined:
not resolved, `TESTS_FAILED`, and shown apart.
"""
