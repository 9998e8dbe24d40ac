"""Rows from wherever they are: a run directory, or a file of records."""

from rolewall.records.dataset import Dataset, dataset_of, read_dataset

__all__ = ["Dataset", "dataset_of", "read_dataset"]
