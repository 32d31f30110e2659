"""What the kit's games are made with: the arguments that there are, and the switches among them."""

import inspect
import json
from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium.envs.registration import load_env_creator

from environments.games.game import Game
from reward.support.nearest import did_you_mean
from reward.support.wording import quoted, shown

KITS = ("self", "language", "gymnasium_id", "render_mode")  # not of ``--env_args``


def fault(game: type[Game], gymnasium_id: str, args: Mapping[str, Any]) -> str:
    """Return why a game cannot be made with ``args``, as far as their names and types tell; empty where it can."""
    known = parameters(game, gymnasium_id)
    for name, value in args.items():
        if name not in known:
            hint = did_you_mean(name, known)
            known_text = f"there are {', '.join(known)}" if known else "it takes none"
            return f"there is no argument {quoted(name)}; {hint or known_text}"
        if isinstance(known[name], bool) and not isinstance(value, bool):
            return f"{name} is true or false, not {shown(json.dumps(value, ensure_ascii=False), 40)}"
    return ""


def parameters(game: type[Game], gymnasium_id: str) -> dict[str, Any]:
    """Return the arguments of a game, and of Gymnasium's environment within, with their defaults."""
    inner = gymnasium.spec(gymnasium_id).entry_point
    made_by = (game, load_env_creator(inner) if isinstance(inner, str) else inner)
    named = [
        parameter for function in made_by if function for parameter in inspect.signature(function).parameters.values()
    ]
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return {
        parameter.name: parameter.default
        for parameter in named
        if parameter.kind not in kinds and parameter.name not in KITS
    }
