"""An executor that speaks all three protocols, sends back what its tools say, and is told to
say what spoils readers. It runs in a role's box, with the standard library alone."""

import json
import os
import urllib.request
from pathlib import Path

MODEL = "scripted-model"
TOOL = {"name": "run", "description": "run a command", "parameters": {"type": "object"}}


def ask(path: str, body: dict) -> dict:
    request = urllib.request.Request(
        f"{os.environ['ANTHROPIC_BASE_URL']}/v1/{path}",
        json.dumps({"model": MODEL, **body}).encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        text = answer.read().decode()
    return {} if body.get("stream") else json.loads(text)


def chat(prompt: str) -> None:
    said = [{"role": "system", "content": "By chat."}, {"role": "user", "content": prompt}]
    tools = [{"type": "function", "function": TOOL}]
    answer = ask("chat/completions", {"messages": said, "tools": tools})["choices"][0]["message"]
    said.append(answer)
    for call in answer["tool_calls"]:
        said.append({"role": "tool", "tool_call_id": call["id"], "content": "chat tool said"})
    ask("chat/completions", {"messages": said, "tools": tools, "stream": True})


def responses(prompt: str) -> None:
    said = [{"role": "user", "content": prompt}]
    body = {"instructions": "By responses.", "tools": [{"type": "function", **TOOL}]}
    output = ask("responses", {**body, "input": said})["output"]
    said += output
    for call in output:
        if call["type"] == "function_call":
            said.append(
                {
                    "type": "function_call_output",
                    "call_id": call["call_id"],
                    "output": "responses tool said",
                }
            )
    ask("responses", {**body, "input": said, "stream": True})


def messages(prompt: str) -> None:
    said = [{"role": "user", "content": prompt}]
    tool = {"name": "run", "input_schema": {"type": "object"}}
    body = {"system": "By messages.", "max_tokens": 99, "tools": [tool]}
    content = ask("messages", {**body, "messages": said})["content"]
    said.append({"role": "assistant", "content": content})
    results = [
        {
            "type": "tool_result",
            "tool_use_id": part["id"],
            "is_error": True,
            "content": "messages tool said",
        }
        for part in content
        if part["type"] == "tool_use"
    ]
    said.append({"role": "user", "content": results})
    ask("messages", {**body, "messages": said, "stream": True})


def main() -> None:
    prompt = Path("/rolewall/prompt.md").read_text()
    for speak in (chat, responses, messages):
        speak(f"{prompt}\nSpeak by {speak.__name__}.")
    app = Path("/workspace/app.py")
    app.write_text(app.read_text().replace("return x", "return x + 1"))


main()
