"""The names that a request may be made of, by protocol: what is not here does not go out.

Endpoints differ in what else they understand, and many read names without regard to case, so
that a name that is not known here can be anything there. Sources: the references of OpenAI's
chat completions and responses and of Anthropic's messages, and the sampling parameters of vLLM
and llama.cpp; what would have an endpoint keep, look up, run or fetch something is left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from rolewall.roles.gateway.wires import Protocol

__all__ = ["FETCHED", "KEYS", "LABELS", "LEFT_OUT", "TYPES"]

_SAMPLING = frozenset({"temperature", "top_p", "top_k", "min_p", "typical_p", "seed", "stop",
                       "frequency_penalty", "presence_penalty", "repetition_penalty",
                       "enable_thinking", "chat_template_kwargs"})  # fmt: skip
_OPENAI = frozenset({"model", "models", "stream", "stream_options", "store", "user", "metadata",
                     "safety_identifier", "prompt_cache_key", "prompt_cache_retention",
                     "service_tier", "tools", "tool_choice", "parallel_tool_calls", "top_logprobs",
                     "reasoning", "verbosity"}) | _SAMPLING  # fmt: skip

KEYS: Mapping[Protocol, frozenset[str]] = {
    "chat": _OPENAI | {
        "messages", "max_tokens", "max_completion_tokens", "n", "best_of", "functions",
        "function_call", "logit_bias", "logprobs", "prediction", "reasoning_effort",
        "response_format", "thinking"},
    "responses": _OPENAI | {
        "client_metadata", "include", "input", "instructions", "max_output_tokens",
        "max_tool_calls", "text", "truncation"},
    "messages": frozenset({
        "model", "messages", "system", "max_tokens", "metadata", "service_tier", "stop_sequences",
        "stream", "cache_control", "context_management", "output_config", "output_format",
        "thinking", "tools", "tool_choice"}) | _SAMPLING,
}  # fmt: skip
"""What may stand at the top of a request."""

# Refused in a sentence of its own, if it asks for anything.
LEFT_OUT = frozenset({"mcp_servers", "web_search_options", "plugins", "container", "prompt",
                      "conversation", "background", "previous_response_id"})  # fmt: skip
"""Would have the endpoint reach or keep something; allowed where it is empty."""

LABELS: Mapping[Protocol, Mapping[str, frozenset[str]]] = {
    "chat": {"metadata": frozenset()},
    "responses": {"metadata": frozenset(), "client_metadata": frozenset()},
    "messages": {"metadata": frozenset({"user_id"})},
}
"""Labels for the endpoint's books, which gateways of other makers take for settings: of each
nothing is sent but what is named, if it is a text."""

FETCHED = frozenset({"image", "image_url", "input_image", "document", "file", "input_file",
                     "input_audio", "audio", "audio_url", "video", "video_url", "input_video",
                     "computer_screenshot"})  # fmt: skip
"""Parts that are looked at or listened to: by an address, an endpoint would fetch it."""

TYPES = FETCHED | frozenset({
    # parts that are words
    "text", "input_text", "output_text", "refusal", "summary_text", "reasoning_text",
    "thinking", "redacted_thinking", "tool_use", "tool_result", "tool_reference",
    "search_result",
    # calls of the agent's own tools and what they gave
    "message", "reasoning", "compaction", "function", "custom", "function_call",
    "function_call_output", "custom_tool_call", "custom_tool_call_output", "local_shell_call",
    "local_shell_call_output", "shell_call", "shell_call_output", "apply_patch_call",
    "apply_patch_call_output", "computer_call", "computer_call_output",
    "reasoning.text", "reasoning.summary", "reasoning.encrypted",
    # sources, and how a shell ended
    "base64", "url", "content", "ephemeral", "exit", "timeout",
})  # fmt: skip
"""All that a ``type`` in a conversation may be."""
