"""An agent that asks its model what to do, and looks for what it may not have."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import urllib.error
import urllib.request
from pathlib import Path

ROLE = os.environ["ROLEWALL_ROLE"]
PROMPT = Path("/rolewall/prompt.md").read_text()
URL = os.environ["OPENAI_BASE_URL"]


def ask(text: str, **more: object) -> dict:
    body = {"model": "big", "messages": [{"role": "user", "content": text}], **more}
    request = urllib.request.Request(
        f"{URL}/chat/completions",
        json.dumps(body).encode(),
        {
            "content-type": "application/json",
            "authorization": f"Bearer {os.environ['OPENAI_API_KEY']}",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        print("REFUSED", error.code, error.read().decode())
        return {}


def hunt() -> list[str]:
    """Files, and environments and command lines of processes, with something like a key."""
    wanted = re.compile(b"sk-" + b"true-[a-z0-9-]+")
    places = [f"/proc/{pid}/{name}" for pid in os.listdir("/proc") if pid.isdigit()
              for name in ("environ", "cmdline")]  # fmt: skip
    for top in ("/rolewall", "/home", "/tmp", "/etc", "/run", "/var", "/workspace", "/dev/shm"):
        places += [os.path.join(base, name) for base, _, names in os.walk(top) for name in names]
    found = []
    for place in places:
        try:
            if place.startswith("/proc") or os.path.isfile(place):
                data = Path(place).read_bytes()
                found += [f"{place}: {hit.decode()}" for hit in wanted.findall(data)]
        except OSError:
            continue
    return found + [f"{k}: {v}" for k, v in os.environ.items() if "sk-" + "true" in v]


def reach(port: int) -> str:
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except OSError as error:
        return error.strerror or "no"
    return "reached"


said = ask(PROMPT)
for _ in range(int(os.environ.get("FURTHER", "0"))):
    ask(PROMPT)
if ROLE == "executor":
    with open("/workspace/decoy", "w") as file:
        file.write("sk-" + "true-decoy")
    text = said["choices"][0]["message"]["content"] if said else ""
    with open("/workspace/app.py", "w") as file:
        file.write(text)
print(json.dumps({"found": hunt(), "endpoint": reach(int(sys.argv[1])), "gateway": reach(8378)}))
if ROLE == "verifier" and said:
    nonce = re.search(r'"nonce": "([0-9a-f]{32})"', PROMPT)
    verdict = {"schema_version": 1, "nonce": nonce[1], "checks": [], "commands": [],
               "verdict": said["choices"][0]["message"]["content"]}  # fmt: skip
    with open("/verdict/verdict.json", "w") as file:
        json.dump(verdict, file)
