"""What a request may be made of. Each thing that is refused has a twin that goes out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rolewall.roles.gateway.admission import Asked, Refused, admit
from rolewall.roles.gateway.parsing import MAX_NODES
from rolewall.roles.gateway.wires import TARGETS
from tests.gateway.conftest import ASKED, PATHS

CHAT, RESPONSES, MESSAGES = PATHS
METADATA = "http://169.254.169.254/latest"
DATA = "data:image/png;base64,AAAA"
Body = dict[str, Any]


def admitted(path: str, **more: object) -> Asked:
    return admit(TARGETS[path], json.dumps({**ASKED[path], **more}).encode(), ("big", "small"))


def sent(path: str, **more: object) -> Body:
    body: Body = json.loads(admitted(path, **more).payload)
    return body


def assert_twins(path: str, word: str, place: str, refused: Body, twin: Body) -> None:
    with pytest.raises(Refused) as caught:
        admitted(path, **refused)
    assert caught.value.word == word and place in caught.value.message
    admitted(path, **twin)


def said(part: object) -> Body:
    return {"messages": [{"role": "user", "content": [part]}]}


def heard(part: object) -> Body:
    return {"input": [{"role": "user", "content": [part]}]}


# Path, the name that is refused, and a value that goes out under it in small letters.
NAMES = {
    "a model": (CHAT, "Model", "model", "big"),
    "a model, loud": (MESSAGES, "MODEL", "model", "big"),
    "tools": (CHAT, "Tools", "tools", []),
    "a conversation": (CHAT, "Messages", "messages", []),
    "an input": (RESPONSES, "Input", "input", []),
    "a long s": (CHAT, "me\u017f\u017fages", "messages", []),
    "a kelvin sign": (MESSAGES, "max_to\u212aens", "max_tokens", 5),
    "a space": (CHAT, "model ", "model", "big"),
}


@pytest.mark.parametrize(("path", "name", "twin", "value"), NAMES.values(), ids=NAMES)
def test_a_name_is_told_by_its_letters(path: str, name: str, twin: str, value: object) -> None:
    """Many servers read names without regard to case, the last one winning."""
    assert_twins(path, "body", repr(name), {name: "huge"}, {twin: value})


@pytest.mark.parametrize(
    "name",
    ["search_parameters", "enable_search", "api_base", "base_url", "extra_body", "preset",
     "provider", "fallbacks", "route", "transforms", "speed"],
)  # fmt: skip
@pytest.mark.parametrize("path", PATHS)
def test_names_that_are_not_known_do_not_go_out(path: str, name: str) -> None:
    assert_twins(path, "body", name, {name: METADATA}, {"temperature": 0.5})


@pytest.mark.parametrize("path", PATHS)
def test_names_of_another_protocol_do_not_either(path: str) -> None:
    own = {CHAT: "reasoning_effort", RESPONSES: "max_tool_calls", MESSAGES: "stop_sequences"}
    for other in PATHS:
        if other != path:
            assert_twins(path, "body", own[other], {own[other]: None}, {own[path]: None})


TEXT = {"type": "text", "text": f"Note: see {METADATA}, file:///etc/passwd"}
PARTS: dict[str, tuple[str, str, Body, Body]] = {
    "a film": (CHAT, "address", said({"type": "video_url", "video_url": {"url": METADATA}}),
               said({"type": "video_url", "video_url": {"url": DATA}})),
    "a sound": (CHAT, "address", said({"type": "audio_url", "audio_url": {"url": METADATA}}),
                said(TEXT)),
    "a picture by its own name": (CHAT, "address", said({"type": "image", "image": METADATA}),
                                  said({"type": "image", "image": DATA})),
    "a file of the endpoint's": (CHAT, "address", said({"type": "image", "image": "/etc/a.png"}),
                                 said({"type": "text", "text": "/etc/a.png"})),
    "a place without a scheme": (CHAT, "address", said({"type": "image_url", "image_url": "h/x"}),
                                 said({"type": "image_url", "image_url": DATA.upper()})),
    "a sound with an address": (CHAT, "address", said(
        {"type": "input_audio", "input_audio": {"url": METADATA}}), said(
            {"type": "input_audio", "input_audio": {"data": "/9j/4AA", "format": "wav"}})),
    "under any name": (CHAT, "address", said({"type": "image", "elsewhere": METADATA}),
                       said({"type": "image", "detail": "low"})),
    "of no type": (CHAT, "address", said({"image_url": {"url": METADATA}}),
                   said({"image_url": {"url": DATA}})),
    "in a list": (CHAT, "address", said({"type": "video", "video": [DATA, METADATA]}),
                  said({"type": "video", "video": [DATA, DATA]})),
    "beside the words": (CHAT, "address", {"messages": [
        {"role": "user", "content": "hi", "images": [METADATA]}]}, {"messages": [
            {"role": "user", "content": METADATA}]}),
    "in a document": (MESSAGES, "address", said({"type": "document", "source": {
        "type": "content", "content": [{"type": "image", "source": {
            "type": "url", "url": METADATA}}]}}), said({"type": "document", "source": {
                "type": "content", "content": [TEXT]}})),
    "a document": (MESSAGES, "address", said({"type": "document", "source": {
        "type": "url", "url": METADATA}}), said({"type": "document", "title": "Re: it", "source": {
            "type": "text", "media_type": "text/plain", "data": METADATA}})),
    "in a system's words": (MESSAGES, "address", {"system": [
        {"type": "image", "source": {"type": "url", "url": METADATA}}]}, {"system": [TEXT]}),
    "in a tool's result": (RESPONSES, "address", {"input": [{
        "type": "function_call_output", "call_id": "c", "output": [
            {"type": "input_image", "image_url": METADATA}]}]}, {"input": [{
                "type": "function_call_output", "call_id": "c", "output": METADATA}]}),
    "a screen": (RESPONSES, "address", {"input": [{"type": "computer_call_output", "output": {
        "type": "computer_screenshot", "image_url": METADATA}}]}, {"input": [{
            "type": "computer_call", "action": {"type": "navigate", "url": METADATA}}]}),
    "with capitals": (CHAT, "body", said({"type": "text", "text": "x", "Type": "image_url",
                                          "Image_URL": {"URL": METADATA}}), said(TEXT)),
    "a conversation that is none": (CHAT, "body", {"messages": {"0": said(TEXT)}},
                                    {"messages": []}),
    "words for a conversation": (CHAT, "body", {"messages": "hi"}, {"messages": []}),
    "a kept answer": (RESPONSES, "tool", {"previous_response_id": "resp_1"},
                      {"previous_response_id": None}),
    "a kept item": (RESPONSES, "tool", {"input": [{"type": "item_reference", "id": "msg_1"}]},
                    {"input": [{"type": "message", "id": "msg_1", "role": "user",
                                "content": "hi"}]}),
    "a kept file": (RESPONSES, "tool", heard({"type": "input_file", "file_id": "file-1"}),
                    heard({"type": "input_file", "file_data": "data:application/pdf;base64,AAAA",
                           "filename": "a: b.pdf"})),
    "a kept file, messages": (MESSAGES, "tool", said({"type": "document", "source": {
        "type": "file", "file_id": "f"}}), said({"type": "document", "source": {
            "type": "base64", "media_type": "application/pdf", "data": "AAAA"}})),
    "a kept sound": (CHAT, "tool", {"messages": [{"role": "assistant", "audio": {"id": "a"}}]},
                     {"messages": [{"role": "assistant", "audio": None}]}),
    "keep it": (RESPONSES, "tool", {"store": True}, {"store": False}),
    "an approval": (RESPONSES, "tool", {"input": [{"type": "mcp_approval_response",
                                                  "approve": True}]},
                    {"input": [{"type": "custom_tool_call", "call_id": "c", "name": "x",
                                "input": METADATA}]}),
    "an upload": (MESSAGES, "tool", said({"type": "container_upload", "file_id": ""}),
                  said({"type": "tool_use", "id": "t", "name": "x", "input": {
                      "type": "image", "Url": METADATA, "file_id": "x"}})),
}  # fmt: skip


@pytest.mark.parametrize(("path", "word", "refused", "twin"), PARTS.values(), ids=PARTS)
def test_what_is_looked_at_comes_with_the_request(
    path: str, word: str, refused: Body, twin: Body
) -> None:
    assert_twins(path, word, "", refused, twin)


def test_a_refusal_names_the_place() -> None:
    with pytest.raises(Refused, match=r"messages\[0\]\.content\[0\]\.video_url\.url: .*169"):
        admitted(CHAT, **said({"type": "video_url", "video_url": {"url": METADATA}}))


FUNCTION = {"type": "function", "function": {"name": "x", "parameters": {"Type": "OBJECT"}}}
OWN = {"name": "x", "input_schema": {"properties": {"URL": {"format": "uri"}}}}
TOOLS: dict[str, tuple[str, Body, Body]] = {
    "a search of no type": (CHAT, {"googleSearch": {}}, FUNCTION),
    "pages of no type": (CHAT, {"url_context": {}}, FUNCTION),
    "a search beside a function": (CHAT, {**FUNCTION, "googleSearch": {}}, FUNCTION),
    "in the function": (CHAT, {"type": "function", "function": {"name": "x", "server": "y"}},
                        FUNCTION),
    "a name alone": (MESSAGES, {"name": "web_search"}, OWN),
    "a shell elsewhere": (RESPONSES, {"type": "shell", "environment": {"type": "container_auto"}},
                          {"type": "shell", "environment": {"type": "local"}}),
    "a shell of a container": (RESPONSES, {"type": "shell", "environment": {
        "type": "container_reference", "container_id": "c"}}, {"type": "shell"}),
    "a caller elsewhere": (MESSAGES, {**OWN, "allowed_callers": ["code_execution_20250825"]},
                           {**OWN, "allowed_callers": ["direct"]}),
    "in a group": (RESPONSES, {"type": "namespace", "name": "n", "tools": [{"googleSearch": {}}]},
                   {"type": "namespace", "name": "n", "tools": [{"type": "custom", "name": "x"}]}),
}  # fmt: skip


@pytest.mark.parametrize(("path", "refused", "twin"), TOOLS.values(), ids=TOOLS)
def test_tools_are_the_agents_own(path: str, refused: Body, twin: Body) -> None:
    assert_twins(path, "tool", "tools[", {"tools": [refused]}, {"tools": [twin]})


def test_functions_as_they_were_before_tools_are_too() -> None:
    assert_twins(CHAT, "tool", "functions[0]", {"functions": [{"name": "x", "url": METADATA}]},
                 {"functions": [{"name": "x", "parameters": {}}]})  # fmt: skip


def test_labels_are_cut_to_what_cannot_be_a_setting() -> None:
    labels = {"langfuse_host": METADATA, "model": "huge", "fallbacks": ["huge"], "user_id": "u"}
    assert "metadata" not in sent(CHAT, metadata=labels)
    assert sent(MESSAGES, metadata=labels)["metadata"] == {"user_id": "u"}
    body = sent(RESPONSES, metadata=labels, client_metadata={"thread_id": METADATA})
    assert set(body) == {"model", "input"}


def test_a_dearer_tier_is_refused() -> None:
    assert_twins(CHAT, "body", "service_tier", {"service_tier": "priority"},
                 {"service_tier": "default"})  # fmt: skip


LIMITS: dict[str, tuple[str, Body, int | None]] = {
    "none": (CHAT, {}, None),
    "one": (CHAT, {"max_tokens": 10}, 10),
    "the larger of two": (CHAT, {"max_completion_tokens": 1, "max_tokens": 10_000}, 10_000),
    "many answers": (CHAT, {"max_tokens": 10, "n": 5}, 50),
    "the best of many": (CHAT, {"max_tokens": 10, "n": 2, "best_of": 7}, 70),
    "many without end": (CHAT, {"n": 128}, None),
    "minus one": (CHAT, {"max_tokens": -1, "max_completion_tokens": 5}, None),
    "no number": (CHAT, {"max_tokens": None}, None),
    "responses": (RESPONSES, {"max_output_tokens": 7}, 7),
    "messages": (MESSAGES, {"max_tokens": 9}, 9),
}


@pytest.mark.parametrize(("path", "asked", "tokens"), LIMITS.values(), ids=LIMITS)
def test_what_an_answer_may_come_to(path: str, asked: Body, tokens: int | None) -> None:
    assert admitted(path, **asked).answer_tokens == tokens


@pytest.mark.parametrize("value", [10_000.0, "10000", True, [1]])
def test_a_limit_is_a_whole_number(value: object) -> None:
    assert_twins(CHAT, "body", "max_tokens", {"max_tokens": value}, {"max_tokens": 10_000})


@pytest.mark.parametrize("value", [0, -1, 129, 1.5, "2", True])
def test_so_is_a_number_of_answers(value: object) -> None:
    assert_twins(CHAT, "body", "n", {"n": value}, {"n": 128})


FLOODS = {
    "lists": b"[],",
    "texts": b'"",',
    "texts with backslashes": rb'"\\",',
    "numbers": b"1,",
    "objects": b'{"a":1},',
}


@pytest.mark.parametrize("one", FLOODS.values(), ids=FLOODS)
def test_a_flood_of_values_is_counted_and_not_made(one: bytes) -> None:
    """The twin has as many signs, in one text."""
    flood = one * (MAX_NODES + 10)
    with pytest.raises(Refused, match="100,000 values") as caught:
        admit(TARGETS[CHAT], b'{"model": "big", "messages": [' + flood + b"1]}", ("big",))
    assert (caught.value.word, caught.value.status) == ("body", 413)
    words = flood.decode().replace('"', "'")
    admitted(CHAT, messages=[{"role": "user", "content": words}])


def test_models_are_looked_for_everywhere_but_in_an_agents_own_names() -> None:
    schema = {"schema": {"properties": {"model": {"enum": ["huge"]}, "Model": {"type": "string"}}}}
    for path, name in ((CHAT, "response_format"), (RESPONSES, "text"), (MESSAGES, "output_config")):
        assert_twins(path, "model", "huge", {name: {"format": {"model": "huge"}}},
                     {name: {"format": schema}})  # fmt: skip
