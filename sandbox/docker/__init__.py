"""The Docker backend. Files are named by the question they answer.

===============  ====================================================
``engine``       how do we talk to the engine?
``fit``          may this engine hold the wall?
``image``        what is the root file system made of?
``profile``      which system calls does the engine let through?
``container``    what exactly is asked of the engine?
``backend``      how is a box started?
``launched``     what is a started box, and how does it end?
``limits``       are its limits in force?
``failure``      what went wrong, and whose fault is it?
``cleanup``      what do dead harnesses leave?
``diagnose``     what can this machine enforce?
===============  ====================================================
"""

from __future__ import annotations

from rolewall.sandbox.docker.backend import DockerBackend
from rolewall.sandbox.docker.engine import find_engine

__all__ = ["DockerBackend", "find_engine"]
