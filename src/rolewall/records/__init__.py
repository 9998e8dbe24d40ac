"""Rows from wherever they are: a run directory, or a file of records.

The records of other harnesses are read as a :class:`RecordMapping` says, and nothing is
guessed: what no field, word or number of ours is stops the reading at its line.
"""

from rolewall.records.dataset import Dataset, Origin, dataset_of, read_dataset
from rolewall.records.mapping import RecordMapping, read_mapping

__all__ = ["Dataset", "Origin", "RecordMapping", "dataset_of", "read_dataset", "read_mapping"]
