"""Answers in the transfer queue as an audit reads them: the text, and what its row says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import transfer_queue as tq

from reward.audit import Row
from reward.rules import repetition
from trainer.workers.audit.measures import AnswerMeasures, components_of

TEXTS = ("prompts", "responses")  # tensors, (T,) each
OF_ROW = ("raw_prompt", "data_source", "reward_model", "extra_info")


@dataclass(frozen=True)
class AuditedAnswer:
    """One answer: what the audit reads, and what is told of it."""

    row: Row
    prompt: str  # as it was sampled from, decoded
    proxy: float
    length: int  # tokens
    info: Mapping[str, Any]  # ``reward_extra_info``

    @property
    def measured(self) -> AnswerMeasures:
        """What the metrics are of."""
        repeated = -repetition.penalty(self.row["response"])
        return AnswerMeasures(self.proxy, float(self.length), repeated, components_of(self.info))


def read(keys: Sequence[str], partition: str, tokenizer: Any, *, scored: bool = True) -> list[AuditedAnswer]:
    """Return the answers of these keys, in their order; ``scored`` says whether their rewards are there already."""
    of_reward = ["rm_scores", "extra_fields"] if scored else []
    data = tq.kv_batch_get(keys=list(keys), partition_id=partition, select_fields=[*TEXTS, *OF_ROW, *of_reward])
    columns = {name: data[name].unbind() for name in TEXTS}
    columns |= {name: _objects(data, name, len(keys)) for name in OF_ROW}
    proxies = [float(row.sum()) for row in data["rm_scores"].unbind()] if scored else [0.0] * len(keys)
    extra_fields = _objects(data, "extra_fields", len(keys)) if scored else [None] * len(keys)
    infos = [dict((fields or {}).get("reward_extra_info", None) or {}) for fields in extra_fields]
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return [_answer(*fields, tokenizer) for fields in zip(rows, proxies, infos, strict=True)]


def _objects(data: Any, name: str, count: int) -> list[Any]:
    """Return a column that has no tensors as Python's objects, whatever wraps it; None where it is absent."""
    if name not in data:
        return [None] * count
    column = data[name]
    return list(column.tolist() if hasattr(column, "tolist") else column)


def _answer(fields: dict[str, Any], proxy: float, info: Mapping[str, Any], tokenizer: Any) -> AuditedAnswer:
    """Return one answer; special tokens are left out of the text, as rewards get it."""
    prompt, response = (tokenizer.decode(fields[name], skip_special_tokens=True) for name in TEXTS)
    length = len(fields["responses"])
    row = {
        "data_source": str(fields["data_source"]),
        "response": response,
        "ground_truth": (fields["reward_model"] or {}).get("ground_truth"),
        "extra_info": {**(fields["extra_info"] or {}), "response_tokens": length},
        "prompt": [dict(turn) for turn in fields["raw_prompt"]],
    }
    return AuditedAnswer(row, prompt, proxy, length, info)
