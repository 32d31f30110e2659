"""vLLM's parsers of tool calls, as verl's are used: for the models that verl has none for (Llama, Mistral, ...)."""

import logging
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from environments.tools.calls import Call
from trainer.workers.rollout.multi_turn import turn_limit

FIRST = (
    "llama3_json",
    "mistral",
    "llama4_pythonic",
    "phi4_mini_json",
    "granite",
    "olmo3",
    "pythonic",
)  # tried before the rest
MODULES = "vllm.tool_parsers.", "vllm.parser."  # those of the parsers, and of what some hand a turn to
logger = logging.getLogger(__name__)


class VllmParser:
    """One of vLLM's parsers, for a tokenizer.

    Raises:
        Exception: the parser is not made for this tokenizer.
    """

    stop_token_ids: Sequence[int] = ()

    def __init__(self, name: str, tokenizer: Any) -> None:
        from vllm.tool_parsers import ToolParserManager  # takes seconds

        self._tokenizer = tokenizer
        self._parser_class = ToolParserManager.get_tool_parser(name)
        self._ends = set(tokenizer.all_special_ids)
        turn_limit.limit_modules(name for name in list(sys.modules) if name.startswith(MODULES))
        self._make([])

    async def extract_tool_calls(self, tokens: list[int], schemas: Sequence[Any]) -> tuple[str, list[Call]]:
        """Return the words of a turn without its calls, and the calls.

        Raises:
            Exception: the parser's own, of a call that it cannot read.
        """
        from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

        while tokens and tokens[-1] in self._ends:
            tokens = tokens[:-1]
        text = self._tokenizer.decode(tokens)
        tools = [schema.model_dump(exclude_none=True) for schema in schemas]
        request = ChatCompletionRequest(model="", messages=[{"role": "user", "content": "?"}], tools=tools)
        extracted = self._make(request.tools or []).extract_tool_calls(text, request)
        calls = [Call(call.function.name, call.function.arguments) for call in extracted.tool_calls]
        return (extracted.content or "" if calls else text), calls

    def _make(self, tools: list[Any]) -> Any:
        """Return a parser for one turn: it may keep a state."""
        return self._parser_class(self._tokenizer, tools)


def names() -> Iterator[str]:
    """Yield the names of vLLM's parsers, in the order in which they are tried."""
    from vllm.tool_parsers import ToolParserManager

    # What a policy writes is no news of the kit's: it is told of an unreadable call where it made it.
    logging.getLogger("vllm.tool_parsers").setLevel(logging.CRITICAL)
    logging.getLogger("vllm.parser").setLevel(logging.CRITICAL)
    known = ToolParserManager.list_registered()
    yield from (name for name in FIRST if name in known)
    yield from sorted(set(known) - {*FIRST})
