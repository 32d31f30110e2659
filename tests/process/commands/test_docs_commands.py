"""The commands of README.md and docs/ are what the kit takes: ``train.sh`` reads them, and they compose."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import clean_environment
from tests.support.composing import resolved
from tests.support.pages import Command, pages
from trainer import ROOT
from trainer.settings.knobs import COMMANDS, load_knobs
from trainer.settings.settings import read_settings
from trainer.user_error import UserError

USAGE = {words.split()[0]: words for words in COMMANDS if words}
READ = {"KIT_GIVEN", "KIT_UNKNOWN"} | {knob.env for knob in load_knobs()}
COMMANDS_OF_PAGES = [command for page in pages() for command in page.commands]
# Each once, under the page that has it first: most stand in both languages.
WRITTEN = {(command.words, *command.environ.items()): command for command in reversed(COMMANDS_OF_PAGES)}
TRAIN = [command for command in WRITTEN.values() if command.words[0] == "./train.sh"]


@pytest.mark.parametrize("command", WRITTEN.values(), ids=str)
def test_programs_exist(command: Command) -> None:
    name = command.words[0]
    if name == "make":
        rules = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert set(command.words[1:]) <= set(rules)
    elif name == ".venv/bin/python":
        _module(command)
    elif name == "sbatch":
        assert (ROOT / command.words[1]).is_file()
    else:
        assert (ROOT / name).is_file()


def _module(command: Command) -> None:
    """Assert that ``python -m MODULE --flag ...`` names a module of the kit, and flags that stand in it."""
    assert command.words[1] == "-m"
    spec = importlib.util.find_spec(command.words[2])
    assert spec is not None and spec.origin is not None, str(command)
    source = Path(spec.origin).read_text()
    flags = [word for word in command.words if word.startswith("--")]
    assert [flag for flag in flags if flag.removeprefix("--") not in source] == [], str(command)


@pytest.fixture(scope="module")
def listener(tmp_path_factory) -> Path:
    """A python that writes down what train.sh would have it check, and refuses."""
    path = tmp_path_factory.mktemp("listener") / "python"
    path.write_text(
        "#!/bin/bash\n"
        f'[[ "$1" == -m ]] || exec {sys.executable} "$@"\n'
        '{ printf "%s\\0" "${@:3}"; printf "\\0"; env -0; } >"$HEARD"\nexit 2\n'
    )
    path.chmod(0o755)
    return path


@pytest.fixture(scope="module")
def readers_file(tmp_path_factory) -> Path:
    """What a page's --config may name."""
    path = tmp_path_factory.mktemp("config") / "train.yaml"
    path.write_text("lr: 5e-7\n")
    return path


def _heard(command: Command, listener: Path) -> tuple[list[str], dict[str, str]]:
    """Return the overrides and env vars that train.sh makes of a command."""
    report = listener.with_name("heard")
    report.unlink(missing_ok=True)
    own = {key: value for key, value in command.environ.items() if key not in ("PYTHON", "VENV")}
    environ = clean_environment(**own, PYTHON=str(listener), HEARD=str(report))
    subprocess.run(
        [str(ROOT / "train.sh"), *command.words[1:]], cwd=ROOT, env=environ, capture_output=True, check=False
    )
    words, _, rest = report.read_text().partition("\0\0")
    return words.split("\0") if words else [], dict(line.split("=", 1) for line in rest.strip("\0").split("\0"))


def _composes(words: list[str], heard: dict[str, str], model: Path) -> None:
    """Assert that settings are read without a fault, and that verl's configuration is composed of them."""
    config = resolved(model, 8, *words, **{key: value for key, value in heard.items() if key in READ})
    assert config.trainer.v1.trainer_mode == "ppo_kit"


@pytest.mark.parametrize("command", TRAIN, ids=str)
def test_train_sh_takes_it(command: Command, listener, readers_file, small_model) -> None:
    """Its flags are known, its values in range, its overrides verl's, and all of them go together."""
    name = command.words[1] if command.words[1:] and re.fullmatch("[a-z_]+", command.words[1]) else ""
    assert not name or name in USAGE
    if name in ("wheelhouse", "init") or "--help" in command.words:
        return  # have flags of their own
    if name and " " in USAGE[name] and "[" not in USAGE[name].split()[1]:
        assert command.words[2:] and not command.words[2].startswith("-"), USAGE[name]
    words, heard = _heard(command, listener)
    heard["RUN_CONFIG"] = str(readers_file) if heard.get("RUN_CONFIG") else ""
    if name in ("", "check", "check_reward"):
        _composes(words, heard, small_model)
    else:  # of no verl's configuration
        read_settings({key: value for key, value in heard.items() if key in READ}, words, 8)


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["--no_such_flag", "3"], "--no_such_flag: there is no such flag"),
        (["--clip_ratio", "much"], "--clip_ratio"),
        (["actor_rollout_ref.actor.no_such_key=1"], "verl has no such setting"),
        (["--nnodes", "2"], "MASTER_ADDR"),
    ],
)
def test_a_command_that_is_wrong_is_seen(words, fault, listener, small_model) -> None:
    """What the test above says of a page that was not kept."""
    with pytest.raises(UserError, match=fault):
        _composes(*_heard(Command("a page", ("./train.sh", *words)), listener), small_model)
