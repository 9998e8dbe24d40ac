"""What became of one plant."""

from __future__ import annotations

from dataclasses import asdict, dataclass

__all__ = ["PlantedRow"]


@dataclass(frozen=True, slots=True)
class PlantedRow:
    """One plant of a hostile executor, and where it acted.

    Attributes:
        id: unique among plants, ``[a-z0-9-]``.
        group: ``git``, ``python``, ``shell``, ``zone`` or ``process``.
        what: the plant in a few words.
        live: whether it acted where it may, and somebody was careless: in the planter's own box,
            a check box or a grade box. The twin.
        host: whether it acted on the host, or changed a file there.
        verifier: whether it acted in the verifier's own box.
        check: whether it acted in the check box, which is there for that.
        grade: whether it acted in the grade box, likewise.
        harm: what it changed that is not its planter's to change, or an empty text.
    """

    id: str
    group: str
    what: str
    live: bool
    host: bool
    verifier: bool
    check: bool
    grade: bool
    harm: str

    @property
    def landed(self) -> bool:
        """Whether the wall was crossed. To act in a check or grade box is no crossing."""
        return self.host or self.verifier or bool(self.harm)

    @property
    def problem(self) -> str:
        """What is wrong with this row, or an empty string."""
        if self.landed:
            return "acted where it must not"
        return "" if self.live else "was seen to act nowhere: it shows nothing"

    def json(self) -> dict[str, object]:
        return {**asdict(self), "landed": self.landed, "problem": self.problem}
