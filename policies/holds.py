"""What open conditions forbid, as part of a policy: it compiles to mounts like all else.

A hold takes access from the roles that it binds, the zone's owner too: what may not be
written is mounted read-only, what may not be read is not mounted. It gives nobody anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rolewall.errors import PolicyError
from rolewall.policies.model import HARNESS, Hold, Policy

__all__ = ["hold"]


def hold(policy: Policy, holds: Iterable[Hold], *, binding: bool = True) -> Policy:
    """``policy`` with ``holds`` in place of those that it has.

    Args:
        binding: whether they lower access. Without a wall they are only told: an attempt at
            what is held is recorded as forbidden, and let through.

    Raises:
        PolicyError: a hold on what is no shared zone of a role's.
    """
    held = tuple(dict.fromkeys(holds))
    for one in held:
        zone = policy.zone(one.zone)
        if zone.private or zone.owner == HARNESS:
            raise PolicyError(
                "a condition cannot hold this zone",
                place=f"condition {one.condition}",
                got=one.zone,
                expected="a shared zone that a role owns",
            )
    return replace(policy, holds=held, binding=binding)
