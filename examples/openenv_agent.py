"""An agent for the environment of openenv_server.py, with a model that speaks OpenAI's API.

    OPENAI_API_KEY=… python examples/openenv_agent.py http://localhost:8000 lru-expiry MODEL

It prints the reward and the verdict. `null` as the reward means that the episode does not count.
"""

import json
import sys

from openai import OpenAI
from openenv import GenericEnvClient

TURNS = 50


def main(url: str, task: str, model: str) -> None:
    """Let the model call tools until it is done, and submit what it left."""
    with (
        GenericEnvClient(base_url=url, message_timeout_s=3600).sync() as environment,
        OpenAI() as api,
    ):
        start = environment.reset(task=task)
        messages = [{"role": "user", "content": start.observation["text"]}]
        tools = [
            {"type": "function", "function": {"name": name, "parameters": schema}}
            for name, schema in start.observation["metadata"]["tools"].items()
        ]
        result = start
        for _ in range(TURNS):
            answer = api.chat.completions.create(model=model, messages=messages, tools=tools)
            message = answer.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            for call in message.tool_calls or []:
                arguments = json.loads(call.function.arguments)
                result = environment.step({"tool": call.function.name, "arguments": arguments})
                text = result.observation["text"]
                messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
            if result.done or not message.tool_calls:
                break
        if not result.done:
            result = environment.step({"tool": "submit"})
    print(json.dumps({"reward": result.reward, "verdict": result.metadata["verdict"]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
