"""Auditing a run: everything in its directory held against its records, seals and log.

``run`` goes through a run directory, ``episode`` through each episode of it:
``evidence`` is what an episode leaves (with ``handoffs``, ``verdicts``, and ``contents``
in the ``store``), ``seals`` what fixes it. ``signing`` signs what holds.
"""

from __future__ import annotations

from rolewall.audit.findings import Finding
from rolewall.audit.handoffs import read_sealed
from rolewall.audit.run import AuditReport, audit_run
from rolewall.audit.signing import sign_run

__all__ = ["AuditReport", "Finding", "audit_run", "read_sealed", "sign_run"]
