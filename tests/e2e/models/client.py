"""A client of models such as any agent might be: asks, does what it is told, asks again.

Runs inside the sandbox, with the standard library alone: `python - WIRE [TRIES]`, with a whole
loop of its own. A model that says `run: COMMAND` is obeyed and told the output; anything else ends.
"""

CLIENT = r"""
import json, os, subprocess, sys, time, urllib.error, urllib.request

wire, tries = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
model, said = os.environ["AGENTBENCH_MODEL"], []
if wire == "anthropic-messages":
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
else:
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}


def ask():
    body = json.dumps({"model": model, "messages": said, "max_tokens": 500}).encode()
    for one in range(tries):
        request = urllib.request.Request(
            url, body, {**headers, "content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            print("HTTP", error.code, error.read()[:300], file=sys.stderr)
            if error.code not in (429, 500, 502, 503, 529):
                break
        except (OSError, ValueError) as error:
            print("failed", error, file=sys.stderr)
    sys.exit(3)


def text_of(answer):
    if wire == "anthropic-messages":
        return "".join(block.get("text", "") for block in answer["content"])
    return answer["choices"][0]["message"]["content"]


said.append({"role": "user", "content": open(os.environ["AGENTBENCH_INSTRUCTION"]).read()})
while True:
    text = text_of(ask())
    said.append({"role": "assistant", "content": text})
    if not text.startswith("run: "):
        break
    done = subprocess.run(text[5:], shell=True, capture_output=True, text=True)
    said.append({"role": "user", "content": done.stdout + done.stderr + "(done)"})
"""


def command(wire: str, tries: int = 3) -> str:
    """The command line of an agent that is this client."""
    return f"cat > /tmp/client.py <<'END'\n{CLIENT}\nEND\npython /tmp/client.py {wire} {tries}"
