"""Task directories: ``rolewall``'s own layout and TeamBench's, loaded as they are."""

from __future__ import annotations

from rolewall.tasks.discover import load_task, load_tasks
from rolewall.tasks.model import GraderFile, Task
from rolewall.tasks.stage import stage_grader

__all__ = ["GraderFile", "Task", "load_task", "load_tasks", "stage_grader"]
