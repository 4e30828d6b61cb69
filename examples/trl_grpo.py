"""Trains a model with TRL's GRPO: each completion is a patch, and agentbench's judge rewards it.

python examples/trl_grpo.py --model Qwen/Qwen3-0.6B --tasks tasks --sandbox docker
"""

from dataclasses import dataclass
from pathlib import Path

from datasets import Dataset
from openai import OpenAI
from trl import GRPOConfig, GRPOTrainer, TrlParser

from agentbench import Judge, RunOptions, load_tasks
from agentbench.extensions.adapters.trl_reward import JudgedReward

PROMPT = "Mend this bug. Answer with a unified diff in a ```diff block.\n\n{}\n\n{}"


@dataclass
class Settings:
    """The program's own options; all options of GRPOConfig come besides."""

    model: str
    tasks: Path = Path("tasks")
    sandbox: str = "auto"
    jobs: int | None = None
    retries: int = 2
    server: str = ""  # the base URL of OpenAI's API of a server that has the model, if any


def prompts_of(tasks: Path) -> list[dict[str, str]]:
    """A prompt for each task: its instruction, and the sources of its repository."""
    rows = []
    for task in load_tasks([tasks]).tasks:
        repo = task.folder / "repo"
        sources = [f"{each.relative_to(repo)}:\n{each.read_text()}" for each in repo.rglob("*.py")]
        prompt = PROMPT.format(task.problem.instruction, "\n".join(sources))
        rows.append({"prompt": prompt, "task": str(task.folder)})
    return rows


def complete(prompts: list[str], trainer: GRPOTrainer) -> dict[str, list[list[int]] | None]:
    """Ask the server for completions."""
    tokens, chat = trainer.processing_class, OpenAI(base_url=settings.server).chat.completions
    asked = [[{"role": "user", "content": each}] for each in prompts]
    said = [chat.create(model=settings.model, messages=each).choices[0].message for each in asked]
    answers = [f"{each.content}{tokens.eos_token}" for each in said]
    ids = {"prompt_ids": tokens(prompts).input_ids, "completion_ids": tokens(answers).input_ids}
    return ids | {"logprobs": None}


settings, config = TrlParser((Settings, GRPOConfig)).parse_args_and_config()
options = RunOptions(retries=settings.retries)
with Judge(sandbox=settings.sandbox, jobs=settings.jobs, options=options) as judge:
    GRPOTrainer(
        settings.model, JudgedReward(judge), config, Dataset.from_list(prompts_of(settings.tasks)),
        rollout_func=complete if settings.server else None,
    ).train()  # fmt: skip
