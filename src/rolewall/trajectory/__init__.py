"""What agents said and did, phase by phase, in one schema, and as the formats of others."""

from __future__ import annotations

from rolewall.trajectory.export import Exported, Format, export
from rolewall.trajectory.phases import PhaseTrajectory, read_trajectories

__all__ = ["Exported", "Format", "PhaseTrajectory", "export", "read_trajectories"]
