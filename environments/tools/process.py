"""``python -m environments.tools.process FD SPEC``: loads the tools, and forks one process for each episode.

As ``environments/episode_process.py``; a request is ``{"calls": [[name, arguments], ...]}``, and its answer has
``answers``, a text a call. What a tool keeps in its module lives as long as the episode.
"""

import sys
from typing import Any

from environments.episode_process import Served, fork_for_each
from environments.text_env import EnvironmentFault
from environments.tools.calls import Call, answer
from environments.tools.load import Tool, load
from environments.tools.spec import ERROR, ToolsFault, ToolsSpec
from reward.support.wording import user_code_error_text


def main(descriptor: int, text: str) -> None:
    """Load the tools, and fork for each socket that comes."""
    spec, tools, fault = ToolsSpec.from_json(text), dict[str, Tool](), list[str]()

    def load_tools() -> None:
        try:
            tools.update(load(spec.sources, spec.schemas))
        except ToolsFault as error:
            fault.append(str(error))

    def answers(request: dict[str, Any]) -> dict[str, Any]:
        try:
            return {"answers": [answer(tools, Call(*call), spec.max_answer) for call in request["calls"]]}
        except BaseException as error:  # sys.exit, KeyboardInterrupt
            return {"answers": [f"{ERROR}{user_code_error_text(error)}"] * len(request["calls"])}

    def begin() -> Served:
        if fault:
            raise EnvironmentFault(fault[0])
        return {}, answers

    fork_for_each(descriptor, load_tools, begin)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
