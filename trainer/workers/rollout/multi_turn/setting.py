"""What a run's model talks with, by the configuration: nothing, an environment or tools."""

from dataclasses import dataclass, replace
from typing import Any

from omegaconf import OmegaConf

from environments.spec import EnvSpec
from environments.tools.load import load
from environments.tools.spec import Schema, ToolsSpec
from trainer.workers.rollout.multi_turn.batch import Partner
from trainer.workers.rollout.multi_turn.call_format import CallFormat
from trainer.workers.rollout.multi_turn.conversation import Limits
from trainer.workers.rollout.multi_turn.episodes import Environment
from trainer.workers.rollout.multi_turn.tools import Tools
from trainer.workers.rollout.multi_turn.turn_tokens import TurnTokens

COMPOSITE = "compute_composite"  # of reward/entry.py


@dataclass(frozen=True)
class Setting:
    """An environment, or tools with their schemas; ``limits`` of their conversations."""

    limits: Limits
    template_kwargs: dict[str, Any]
    environment: EnvSpec | None = None
    tools: ToolsSpec | None = None
    is_part: bool = False  # the environment's rewards are one part of a composite

    @classmethod
    def of(cls, rollout: Any, template_kwargs: Any, reward_function: Any = None) -> "Setting":
        """Return the setting of ``actor_rollout_ref.rollout`` and ``reward.custom_reward_function``.

        Raises:
            ToolsFault: the tools cannot be loaded here.
        """
        custom = rollout.get("custom", None) or {}
        kwargs: Any = OmegaConf.to_container(OmegaConf.create(template_kwargs or {}))
        environment, tools = custom.get("environment") or "", custom.get("tools") or ""
        turn = int(custom["max_turn_tokens"]) if environment else rollout.response_length
        is_part = bool((reward_function or {}).get("name") == COMPOSITE)
        return cls.of_specs(environment, tools, Limits(rollout.response_length, turn), kwargs, is_part)

    @classmethod
    def of_specs(
        cls, environment: str, tools: str, limits: Limits, template_kwargs: dict[str, Any], is_part: bool = False
    ) -> "Setting":
        """Return the setting of an environment or of tools, as JSON; one of both is empty, or both are.

        Raises:
            ToolsFault: the tools cannot be loaded here.
        """
        if environment:
            return cls(limits, template_kwargs, environment=EnvSpec.from_json(environment), is_part=is_part)
        if not tools:
            return cls(limits, template_kwargs)
        spec = ToolsSpec.from_json(tools)
        schemas = tuple(tool.schema for tool in load(spec.sources).values())
        return cls(limits, template_kwargs, tools=replace(spec, schemas=schemas))

    @property
    def schemas(self) -> list[Schema] | None:
        """What the model is told of its tools."""
        return list(self.tools.schemas) if self.tools else None

    @property
    def flag(self) -> str:
        """The flag that chose it; empty where a response is one turn."""
        return "--env" if self.environment else "--tools" if self.tools else ""

    async def partner(self, tokenizer: Any) -> Partner:
        """Return what the model talks with.

        Raises:
            ValueError: the model's chat template is none for it.
        """
        turns = TurnTokens(tokenizer, self.template_kwargs)
        if self.environment is not None:
            return Environment(self.environment, self.limits, turns, tokenizer, is_part=self.is_part)
        assert self.tools is not None
        calls = await CallFormat.of(tokenizer, self.schemas or [], self.template_kwargs)
        return Tools(self.tools, self.limits, turns, tokenizer, calls)
