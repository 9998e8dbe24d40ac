"""Task directories: ``rolewall``'s own layout, TeamBench's and Harbor's, loaded as they are."""

from __future__ import annotations

from rolewall.tasks.discover import load_task, load_tasks
from rolewall.tasks.generated import Instances, generated_root, generated_tasks, whole_task
from rolewall.tasks.imagestart import image_starts
from rolewall.tasks.model import GraderFile, Task
from rolewall.tasks.stage import stage_grader
from rolewall.tasks.workenv import role_environment, work_environment

__all__ = [
    "GraderFile",
    "Instances",
    "Task",
    "generated_root",
    "generated_tasks",
    "image_starts",
    "load_task",
    "load_tasks",
    "role_environment",
    "stage_grader",
    "whole_task",
    "work_environment",
]
