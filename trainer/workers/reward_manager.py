"""verl's reward manager, which hands the reward function what it lacks (``config/reward/*.yaml``)."""

from typing import Any

import numpy as np
from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager

from trainer.runs import run_secret


class KitRewardManager(NaiveRewardManager):  # type: ignore[misc]
    """As ``naive``, with ``response_tokens``, ``messages`` (the prompt) and ``rm_router`` in ``extra_info``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.reward_router_address is not None:
            run_secret.establish()  # whose key the servers behind the router ask for

    async def run_single(self, data: Any) -> dict[str, Any]:
        """Score the last sequence of ``data``; verl's arguments and result."""
        last = data[-1:]
        width = last.batch["responses"].shape[-1]
        extra = dict(last.non_tensor_batch.get("extra_info", [{}])[0] or {})
        extra["response_tokens"] = int(last.batch["attention_mask"][0, -width:].sum())
        prompt = last.non_tensor_batch.get("raw_prompt")
        if prompt is not None:
            extra["messages"] = [dict(turn) for turn in prompt[0]]
        if self.reward_router_address is not None:
            extra["rm_router"] = self.reward_router_address  # of verl's own reward model
        last.non_tensor_batch = {**last.non_tensor_batch, "extra_info": np.array([extra], dtype=object)}
        return await super().run_single(last)  # type: ignore[no-any-return]
