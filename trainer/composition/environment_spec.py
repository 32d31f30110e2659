"""The environment of a run, or its tools, as the workers are told of them."""

from environments.tools.spec import ToolsSpec
from reward.support.wording import expand_home
from trainer.settings.conflicts import environment_arguments
from trainer.settings.settings import Settings

TURNS = 8  # of the model, with tools


def name(settings: Settings) -> str:
    """Return ``--env`` with its file's path made absolute; empty where there is none."""
    text = settings.text("ENV_NAME")
    place, colon, which = text.rpartition(":")
    return f"{expand_home(place).absolute()}{colon}{which}" if place.endswith(".py") else text


def name_fault(settings: Settings) -> str:
    """Return why there is no environment of the name that was given; empty where there is, or none is wanted."""
    if not settings.text("ENV_NAME"):
        return ""
    from environments import make  # brings Gymnasium, which other runs do without

    return make.name_fault(name(settings))


def to_json(settings: Settings) -> str:
    """Return the specification as JSON, for ``EnvSpec.from_json``; empty where there is no environment."""
    if not settings.text("ENV_NAME"):
        return ""
    from environments import make  # brings Gymnasium, which other runs do without
    from environments.spec import EnvSpec

    args = environment_arguments(settings.text("ENV_ARGS"))
    turns = settings.integer_or_none("MAX_TURNS")
    return EnvSpec(
        name=name(settings),
        args=args,
        max_turns=make.turns(name(settings), args) if turns is None else turns,
        timeout=settings.number("ENV_TIMEOUT"),
        on_invalid=settings.text("ENV_INVALID"),
        penalty=settings.number("ENV_PENALTY"),
        language=settings.text("ENV_LANGUAGE"),
    ).to_json()


def tools(settings: Settings) -> ToolsSpec | None:
    """Return the tools, with the paths of their files made absolute; None where there are none."""
    if not settings.text("TOOLS"):
        return None
    named = [name.strip() for name in settings.text("TOOLS").split(",")]
    turns = settings.integer_or_none("MAX_TURNS")
    return ToolsSpec(
        sources=tuple(str(expand_home(name).absolute()) if name.endswith(".py") else name for name in named),
        max_turns=TURNS if turns is None else turns,
        max_calls=settings.integer("MAX_CALLS"),
        timeout=settings.number("TOOL_TIMEOUT"),
        max_answer=settings.integer("MAX_TOOL_ANSWER"),
    )


def tools_json(settings: Settings) -> str:
    """Return them as JSON, for ``ToolsSpec.from_json``; empty where there are none."""
    spec = tools(settings)
    return spec.to_json() if spec else ""


def of_model(settings: Settings) -> tuple[str, str]:
    """Return what a built-in model is made for (``data.models.find_or_make``): the environment as JSON, the tools."""
    return to_json(settings), settings.text("TOOLS")
