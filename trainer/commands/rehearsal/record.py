"""What was rehearsed of a configuration, by the hash of the resolved configuration of the real run.

``outputs/rehearsals/<hash>/record.json``: the stages with their states, when, and the versions that they ran with.
"""

import contextlib
import hashlib
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from reward.support import redact
from reward.support.wording import expand_home, shown
from trainer import ROOT
from trainer.checks import preflight
from trainer.commands.rehearsal.stages import Stage
from trainer.composition import compose, config_environment
from trainer.composition.run_plan import RunPlan
from trainer.runs.folders import Run
from trainer.runs.stack_versions import installed
from trainer.settings.knobs import with_trait
from trainer.settings.settings import Settings
from trainer.settings.values import as_env

FILE = "record.json"
LENGTH = 12  # characters of the hash in a folder's name
FILES = ("REWARD_FN", "RM_TEMPLATE", "RM_ADAPTER")  # whose content counts too
# What a machine decides, or a launch: the same run has other values on another machine.
OF_THE_MACHINE = (
    *("ray_kwargs", "actor_rollout_ref.model.use_remove_padding", "actor_rollout_ref.model.override_config"),
    *("critic.model.use_remove_padding", "critic.model.override_config"),
)
NOT_COUNTED = {"FORCE", "MAX_RESTARTS", "HANG_TIMEOUT", "MASTER_PORT", "REWARD_CHECK"}


def folder(output: Path) -> Path:
    """Return the folder of all rehearsals."""
    return output / "rehearsals"


def fingerprint(settings: Settings) -> str:
    """Return the hash of a run's resolved configuration: the same on every machine, with or without its GPUs.

    It is composed as in a dry run, so nothing is fetched. Counted are all knobs but those of one launch or one node,
    verl's configuration, and the person's own code and templates; not data that is large or on the hub, but its name.

    Raises:
        UserError: the configuration cannot be composed.
    """
    dry = settings.having(DRY_RUN=True, RESUME="")
    plan, _ = preflight.look(dry, lambda line: None, make=False)
    if plan is not None:
        settings, dry = plan.fitted(settings), plan.fitted(dry)
    counted = settings.values.keys() - with_trait("launch") - with_trait("node") - NOT_COUNTED
    content: dict[str, Any] = {
        "knobs": {env: as_env(settings.values[env]) for env in sorted(counted)},
        "overrides": sorted(settings.overrides),
        "files": {env: _digest(settings.text(env)) for env in FILES},
        "config": _config(dry, plan) if plan is not None else None,
    }
    text = json.dumps(content, sort_keys=True).replace(str(settings.output), "OUTPUT").replace(str(ROOT), "KIT")
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _config(settings: Settings, plan: RunPlan) -> Any:
    """Return verl's configuration as plain data, for a run and temporary files of fixed names."""
    run = Run("rehearsal", settings.output / "runs" / "rehearsal", settings.output / "checkpoints" / "rehearsal")
    config = compose.resolve(config_environment.of_config(settings, plan, run, Path("/tmp/ppo-kit")), settings)
    for key in OF_THE_MACHINE:
        OmegaConf.update(config, key, None, merge=False, force_add=True)
    return OmegaConf.to_container(config)


def _digest(text: str) -> str:
    """Return the hash of a file that ``path`` or ``path:name`` names; empty where there is none."""
    path = expand_home(text.rpartition(":")[0] if ".py:" in text else text)
    with contextlib.suppress(OSError, ValueError):
        return hashlib.sha256(path.read_bytes()).hexdigest() if text else ""
    return ""


def write(path: Path, stages: Iterable[Stage], seconds: float) -> None:
    """Write what was rehearsed to the record of a rehearsal."""
    rows = [{"name": s.name, "state": s.state, "text": s.text, "seconds": round(s.seconds, 1)} for s in stages]
    facts = {"time": time.time(), "seconds": round(seconds, 1), "versions": installed(), "stages": rows}
    redact.write_json(path, facts)


def line(settings: Settings) -> str:
    """Return in one line what was rehearsed of this very configuration, and when."""
    key = fingerprint(settings)[:LENGTH]
    path = folder(settings.output) / key / FILE
    if not path.is_file():
        return f"not rehearsed with this configuration ({key}); ./train.sh rehearse with the same flags does it"
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(float(facts["time"])))
        names = {
            state: [str(row["name"]) for row in facts["stages"] if row["state"] == state] for state in Stage.STATES
        }
    except (ValueError, KeyError, TypeError) as error:
        return f"{shown(path)} cannot be read ({type(error).__name__}); remove it, and rehearse again"
    text = f"rehearsed on {when} ({key}): ok {', '.join(names['ok']) or 'nothing'}"
    text += f"; FAULT in {', '.join(names['fault'])}" * bool(names["fault"])
    text += f"; interrupted in {', '.join(names['interrupted'])}, with nothing after it" * bool(names["interrupted"])
    text += f"; not {', '.join(names['not rehearsed'])}" * bool(names["not rehearsed"])
    return shown(text, 600)
