"""The tools that a request offers to the model: only those that the agent carries out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rolewall.roles.gateway.refusing import Refused

__all__ = ["check_functions", "check_tools"]

# By type; Anthropic dates the names of its own.
_OWN = frozenset({"function", "custom", "local_shell", "shell", "apply_patch"})
_FAMILIES = ("bash_", "text_editor_", "memory_", "computer_")
# An endpoint may tell a tool by any name in it (``googleSearch``), and not by its type.
_NAMES = frozenset({
    "type", "name", "description", "parameters", "strict", "function", "custom", "format", "tools",
    "input_schema", "output_schema", "input_examples", "cache_control", "defer_loading",
    "eager_input_streaming", "allowed_callers", "environment", "max_characters",
    "display_width_px", "display_height_px", "display_number", "enable_zoom",
})  # fmt: skip
_FUNCTION = frozenset({"name", "description", "parameters", "strict"})
_INNER = {"function": _FUNCTION, "custom": frozenset({"name", "description", "format"})}


def check_tools(tools: object, place: str = "tools") -> None:
    """Raises Refused."""
    for index, tool in enumerate(_objects(tools, place)):
        where = f"{place}[{index}]"
        _check_type(tool, where)
        _check_names(tool, _NAMES, where)
        for name, names in _INNER.items():
            if tool.get(name) is not None:
                _check_names(_object(tool[name], f"{where}.{name}"), names, f"{where}.{name}")
        if tool.get("tools") is not None:
            check_tools(tool["tools"], f"{where}.tools")
        _check_place(tool, where)


def check_functions(functions: object) -> None:
    """Of chat completions, what ``tools`` were before. Raises Refused."""
    for index, function in enumerate(_objects(functions, "functions")):
        _check_names(function, _FUNCTION, f"functions[{index}]")


def _check_type(tool: Mapping[str, Any], where: str) -> None:
    if "type" not in tool:
        if not isinstance(tool.get("name"), str) or "input_schema" not in tool:
            raise Refused("tool", f"{where} has no type, nor name and input_schema")
        return
    kind = tool["type"]
    if not isinstance(kind, str):
        raise Refused("body", f"{where}.type is no text", 400)
    if kind != "namespace" and kind not in _OWN and not kind.startswith(_FAMILIES):
        raise Refused("tool", f"{where}: the tool {kind!r:.100} is carried out by the endpoint")


def _check_names(tool: Mapping[str, Any], names: frozenset[str], where: str) -> None:
    for name in tool:
        if name not in names:
            raise Refused("tool", f"{where} has {name!r:.100}, which no tool of an agent has")


def _check_place(tool: Mapping[str, Any], where: str) -> None:
    """Who carries it out, and who may call it: shells and callers can be the endpoint's."""
    environment = tool.get("environment")
    if environment is not None and _object(environment, where).get("type") != "local":
        raise Refused("tool", f"{where}.environment is the endpoint's; only local is let through")
    if tool.get("allowed_callers") not in (None, [], ["direct"]):
        raise Refused("tool", f"{where}.allowed_callers has more than the model itself")


def _objects(value: object, place: str) -> list[dict[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise Refused("body", f"{place} is no list of objects", 400)
    return [_object(one, f"{place}[{index}]") for index, one in enumerate(value)]


def _object(value: object, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Refused("body", f"{place} is no object", 400)
    return value
