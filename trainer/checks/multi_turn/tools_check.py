"""The tools of a run, loaded as the run will, and the model's chat template, before anything is started."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from environments.tools.spec import Schema, ToolsFault, ToolsSpec
from reward.model.imports import transformers
from reward.support.wording import shown
from trainer.composition import environment_spec
from trainer.settings.settings import Settings
from trainer.user_error import UserError


def schemas(settings: Settings) -> list[Schema]:
    """Return what the model is told of its tools; nothing where there are none.

    Raises:
        UserError: the tools cannot be loaded, with a line for each reason.
    """
    spec = environment_spec.tools(settings)
    if spec is None:
        return []
    from environments.text_env import EpisodeError  # brings Gymnasium, which other runs do without
    from environments.tools.calls import Call
    from environments.tools.load import load, name_faults
    from environments.tools.toolbox import Toolboxes

    async def try_out(tools: ToolsSpec) -> None:
        boxes = Toolboxes(tools)
        try:
            await boxes.start("check")
            if "python" in tools.sources:
                (answer,) = await boxes.call("check", [Call("python", json.dumps({"code": "6 * 7"}))])
                if answer != "42":
                    raise ToolsFault(f"--tools python: {answer}; docs/security.md says what its sandbox needs")
        finally:
            await boxes.shutdown()

    try:
        if faults := name_faults(spec.sources):
            raise ToolsFault(*faults)
        asyncio.run(try_out(spec))  # in a process with a time limit first: importing a file may hang
    except EpisodeError as error:
        if not str(error).startswith("--tools"):
            raise UserError(f"--tools {shown(','.join(spec.sources), 160)}: {error}; fix the file") from None
    except ToolsFault as fault:
        raise UserError(*fault.faults) from None
    try:
        return [tool.schema for tool in load(spec.sources).values()]
    except ToolsFault as fault:
        raise UserError(*fault.faults) from None


def require_calls(command: str, called: str, folder: str, schemas: list[Schema]) -> None:
    """Check that a model can call tools, where there are any.

    Raises:
        UserError: its chat template has no place for them.
    """
    if schemas:
        tokenizer = transformers().AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        if fault := template_fault(tokenizer, schemas, {}):
            raise UserError(f"{command}: {shown(called)}: {fault}")


def template_fault(tokenizer: Any, schemas: list[Schema], template_kwargs: Mapping[str, Any]) -> str:
    """Return why a model with this tokenizer can call no tools; empty where it can."""
    from trainer.workers.rollout.multi_turn.call_format import CallFormat  # brings verl

    try:
        asyncio.run(CallFormat.of(tokenizer, schemas, template_kwargs))
    except ValueError as error:
        return str(error)
    return ""
