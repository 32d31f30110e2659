"""The README.md of an exported model: what it was trained from, on what, how, and with what result."""

import html
import re
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from reward.support.redact import printable
from reward.support.secret import hide
from trainer.monitor.report.charts import number
from trainer.monitor.report.run_record import Record

# What of verl's configuration a reader wants to know.
SETTINGS = {
    "prompts a step": "data.train_batch_size",
    "prompts an update": "actor_rollout_ref.actor.ppo_mini_batch_size",
    "responses a prompt": "actor_rollout_ref.rollout.n",
    "advantages": "algorithm.adv_estimator",
    "learning rate of the policy": "actor_rollout_ref.actor.optim.lr",
    "learning rate of the critic": "critic.optim.lr",
    "clip ratio": "actor_rollout_ref.actor.clip_ratio",
    "KL coefficient": "algorithm.kl_ctrl.kl_coef",
    "LoRA rank": "actor_rollout_ref.model.lora_rank",
    "longest response, tokens": "data.max_response_length",
    "seed": "data.seed",
}


WIDEST = 200  # characters of a value
# Of Markdown, an underscore within a word left out, and what makes links too.
SPECIAL = re.compile(r"[\\`*\[\]|~$!]|(?<![^\W_])_|_(?![^\W_])|(?<=:)//|(?<=www)\.")
FIGURES = ("reward_mean", "kl_divergence", "value_loss", "clip_fraction")


def plain(value: object) -> str:
    """Return a value as Markdown that shows nothing but it: one line, no markup, no HTML, no link, no mention."""
    text = html.escape(printable(" ".join(str(value)[:WIDEST].split())), quote=False)
    return SPECIAL.sub(lambda match: "\\" + match[0], text).replace("@", "&#64;")


def code(value: object) -> str:
    """Return a value for between two backticks, where there is no escape: without any."""
    return printable(" ".join(str(value)[:WIDEST].replace("`", "'").split())) or "unknown"


def card(record: Record, step: int) -> str:
    """Return the card of the model of ``step``."""
    base = str(record.config.get("actor_rollout_ref.model.path", ""))
    columns = {name: [value for at, value in record.curves.points(name) if at <= step] for name in FIGURES}
    environment = Environment(
        loader=PackageLoader("trainer.export", ""),
        trim_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"plain": plain, "code": code}
    return environment.get_template("model_card.md.jinja").render(
        record=record,
        step=step,
        base=_public(base),
        held_out=[validation for validation in record.held_out if validation.step <= step],
        settings=[(name, record.config[key]) for name, key in SETTINGS.items() if key in record.config],
        figures=[(name, number(values[-1])) for name, values in columns.items() if values],
    )


def _public(base: str) -> str:
    """Return the name of the model that was trained from: no path of the machine."""
    try:
        return Path(base).name if Path(base).is_dir() else base
    except (OSError, ValueError):  # too long for a path, or with a character that no path has
        return base


def write(folder: Path, record: Record, step: int) -> None:
    """Write the card into the folder of the model."""
    (folder / "README.md").write_text(hide(card(record, step)), encoding="utf-8")
