"""What `--timeline` takes from an agent: its stage with and without, in turns.

The task has 10,000 files. A scripted model answers each request after 5 seconds with a command that
edits a file, and the agent waits while the state is noted. The seconds are those of the stage
agent_run, without the judging of states afterwards.
Run: python -m benchmarks.timeline [--rounds N] [--steps N] [--answer SECONDS] [--sandbox NAME]
"""

import os
import tempfile
import time
from pathlib import Path

from agentbench import RunOptions, run_attempt
from agentbench.taxonomy import StageName
from benchmarks.measuring import arguments, show, take_turns
from tests.e2e.small_task import SmallTask
from tests.fakes.scripted_answers import Answer, Asked
from tests.fakes.scripted_model import Call, ScriptedModel

_FILES = 10_000


def main() -> None:
    """Take turns and show medians and ratios."""
    parser = arguments(__doc__)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--answer", type=float, default=5.0, help="seconds")
    parser.add_argument("--sandbox", default="bubblewrap")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="agentbench-timeline-") as scratch:
        place = Path(scratch)
        data = {f"data/{n // 100}/{n}.txt": f"{n}\n" for n in range(_FILES)}
        task = SmallTask(
            files={**SmallTask().files, **data},
            agent=f"max_steps = {options.steps + 1}",
        ).write(place / "task")

        def attempt(*, timeline: bool) -> float:
            asked = 0

            def answer(_asked: Asked) -> Answer:
                nonlocal asked
                asked += 1
                time.sleep(options.answer)
                if asked > options.steps:
                    return Call("submit", {"summary": "done"})
                return Call("run", {"command": f"echo '# {asked}' >> basket.py"})

            with ScriptedModel(answer) as server:
                os.environ["OPENAI_API_KEY"] = server.key
                chosen = RunOptions(
                    runs_dir=place / "runs",
                    model="openai/scripted",
                    base_url=server.base_url,
                    probe=False,
                    timeline=timeline,
                    timeline_judgements=2,
                    integrity_controls="off",
                )
                record = run_attempt(task, "llm", sandbox=options.sandbox, options=chosen)
            seconds = {each.name: each.duration_s for each in record.stages}
            return seconds[StageName.AGENT_RUN]

        attempt(timeline=False)  # prepares the task
        measures = take_turns(
            {
                "without": lambda: attempt(timeline=False),
                "with a timeline": lambda: attempt(timeline=True),
            },
            options.rounds,
        )
        show("timeline", measures, options)


if __name__ == "__main__":
    main()
