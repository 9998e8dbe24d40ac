"""Where a role runs: boxes, the tap, manifests, and the directories that roles write."""

from __future__ import annotations

if __name__ != "rolewall.sandbox":
    raise ImportError(f"import this as rolewall.sandbox, not as {__name__}")

from rolewall.sandbox.barestore import STORE_LAYOUT, hold_kinds, hold_store
from rolewall.sandbox.beneath import (
    directory,
    make_directory,
    open_beneath,
    opened,
    reopen,
    storage,
)
from rolewall.sandbox.blobs import BlobStore
from rolewall.sandbox.box import Box, Streams, open_box
from rolewall.sandbox.difference import Difference, aspects, diff
from rolewall.sandbox.gitdiff import render_diff
from rolewall.sandbox.gitrepo import fresh_repo, restore_git, verifier_repo
from rolewall.sandbox.gittree import LeftOut
from rolewall.sandbox.guard import machine_refused, tree_changed
from rolewall.sandbox.imagelook import loaded_by_image
from rolewall.sandbox.images import ImageFacts, Images, images_of
from rolewall.sandbox.interpreter import Program
from rolewall.sandbox.leftover import clean_leftovers, temporary_directory
from rolewall.sandbox.manifest import Entry, Manifest
from rolewall.sandbox.manifest_file import load as load_manifest
from rolewall.sandbox.nested import (
    NestedAside,
    drop_repositories,
    nested_aside,
    restore_nested,
    with_nested,
)
from rolewall.sandbox.packs import may_be_pack
from rolewall.sandbox.programs import looked_in, programs_found
from rolewall.sandbox.protocol import (
    Backend,
    BoxSpec,
    Completed,
    Finding,
    Launched,
    Listen,
    Output,
    ZoneMount,
)
from rolewall.sandbox.readable import make_readable, restore_modes
from rolewall.sandbox.registry import close_left, interrupt_all
from rolewall.sandbox.remove import empty_directory, remove_beneath, remove_tree
from rolewall.sandbox.runtime import cache_directory
from rolewall.sandbox.select import BACKENDS, find_backend
from rolewall.sandbox.showing import check_shown
from rolewall.sandbox.snapshot import ManifestLimits, take
from rolewall.sandbox.sources import check_sources
from rolewall.sandbox.staging import copy_tree, export
from rolewall.sandbox.stopping import check_stop, stoppable
from rolewall.sandbox.tap import Supervisor, Watch, WatchSpec, WatchSummary
from rolewall.sandbox.walker import walk
from rolewall.sandbox.workdir import WORKSPACE, check_workdir

__all__ = [
    "BACKENDS",
    "STORE_LAYOUT",
    "WORKSPACE",
    "Backend",
    "BlobStore",
    "Box",
    "BoxSpec",
    "Completed",
    "Difference",
    "Entry",
    "Finding",
    "ImageFacts",
    "Images",
    "Launched",
    "LeftOut",
    "Listen",
    "Manifest",
    "ManifestLimits",
    "NestedAside",
    "Output",
    "Program",
    "Streams",
    "Supervisor",
    "Watch",
    "WatchSpec",
    "WatchSummary",
    "ZoneMount",
    "aspects",
    "cache_directory",
    "check_shown",
    "check_sources",
    "check_stop",
    "check_workdir",
    "clean_leftovers",
    "close_left",
    "copy_tree",
    "diff",
    "directory",
    "drop_repositories",
    "empty_directory",
    "export",
    "find_backend",
    "fresh_repo",
    "hold_kinds",
    "hold_store",
    "images_of",
    "interrupt_all",
    "load_manifest",
    "loaded_by_image",
    "looked_in",
    "machine_refused",
    "make_directory",
    "make_readable",
    "may_be_pack",
    "nested_aside",
    "open_beneath",
    "open_box",
    "opened",
    "programs_found",
    "remove_beneath",
    "remove_tree",
    "render_diff",
    "reopen",
    "restore_git",
    "restore_modes",
    "restore_nested",
    "stoppable",
    "storage",
    "take",
    "temporary_directory",
    "tree_changed",
    "verifier_repo",
    "walk",
    "with_nested",
]
