"""A small MCP server, for a tool's box: ``echo``, ``fail`` and ``count``, which remembers."""

import json
import sys

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [
    {"name": "echo", "description": "Says it again.", "inputSchema": TEXT},
    {"name": "count", "inputSchema": {"type": "object"}},
    {"name": "fail", "inputSchema": {"type": "object"}},
    {"name": "hang", "inputSchema": {"type": "object"}},
    {"name": "die", "inputSchema": {"type": "object"}},
    {"name": "junk", "inputSchema": {"type": "object"}},
]
counted = []


def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def called(name, arguments):
    counted.append(name)
    if name == "hang":
        sys.stdin.read()
    if name == "die":
        print("I cannot go on", file=sys.stderr)
        sys.exit(3)
    if name == "junk":
        print("no message of the protocol", flush=True)
    if name == "fail":
        return {"content": [{"type": "text", "text": "it is closed"}], "isError": True}
    text = str(len(counted)) if name == "count" else arguments.get("text", "")
    return {"content": [{"type": "text", "text": text}]}


for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, params = asked["method"], asked.get("params", {})
    if method == "initialize":
        say({"method": "notifications/message", "params": {"level": "info", "data": "hello"}})
        say({"id": "mine", "method": "roots/list"})
        assert json.loads(sys.stdin.readline())["error"]["code"] == -32601
        result = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "test", "version": "1"},
        }
    elif method == "tools/list":
        first = "cursor" not in params
        result = {"tools": TOOLS[:3] if first else TOOLS[3:]}
        result |= {"nextCursor": "more"} if first else {}
    else:
        result = called(params["name"], params["arguments"])
    say({"id": asked["id"], "result": result})
