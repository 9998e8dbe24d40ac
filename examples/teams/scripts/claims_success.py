"""Exit 0 if a handoff says that its writer is done: ``claims_success.py HANDOFF``."""

import json
import sys
from pathlib import Path

handoff = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
print(handoff["text"])
sys.exit(0 if handoff["status"] == "done" and "pass" in handoff["text"] else 1)
