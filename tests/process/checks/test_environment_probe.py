"""An environment is played for a few episodes before a launch: what breaks or cannot be learnt is refused in a line."""

import time
from pathlib import Path

import pytest

from environments import make, probe
from environments.spec import EnvSpec
from environments.text_env import EpisodeError

SOURCE = """
import random, time
import gymnasium
from gymnasium.spaces import Text

WORDS = ("left", "right")

class Mine(gymnasium.Env):
    observation_space = action_space = Text(100)
    actions = WORDS

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.goal = WORDS[self.np_random.integers(2)]
        return f"a door {self.np_random.random()}", {}

    def step(self, action):
        if action not in WORDS:
            return "left or right?", 0.0, False, False, {"invalid": True}
        return "", float(action == self.goal), True, False, {}
"""
SCRIPTED = """
    def best_action(self, turns_left):
        return self.goal
"""


def spec_of(folder: Path, source: str, **limits: float) -> EnvSpec:
    (folder / "mine.py").write_text(source, encoding="utf-8")
    return EnvSpec(f"{folder}/mine.py:Mine", timeout=limits.get("timeout", 5.0), max_turns=int(limits.get("turns", 5)))


@pytest.mark.parametrize("game", ["frozenlake", "taxi", "cliffwalking", "cartpole"])
def test_the_games_of_the_kit_can_be_learnt(game: str) -> None:
    played = probe.probe(EnvSpec(game, max_turns=make.turns(game, {})))
    by_chance, well = (sum(played.returns[player]) for player in probe.PLAYERS)
    assert well > by_chance and played.differs and len(played.played) == 16


def test_the_players_of_a_users_environment(tmp_path: Path) -> None:
    played = probe.probe(spec_of(tmp_path, SOURCE + SCRIPTED))
    assert played.returns["scripted"] == [1.0] * 8
    assert len(played.returns["random"]) == 8 and 0 < sum(played.returns["random"]) < 8
    assert played.line().endswith(", scripted player 1.00 (16 episodes)")
    unscripted = probe.probe(spec_of(tmp_path, SOURCE))
    assert sorted(unscripted.returns["random"]) == sorted(played.returns["random"])  # the same players
    assert unscripted.returns["scripted"] == []
    unnamed = probe.probe(spec_of(tmp_path, SOURCE.replace("actions = WORDS", "actions = []")))
    assert not unnamed.played and not unnamed.has_equal_returns and "names no actions" in unnamed.line()


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        ("return f", "random.seed(); return str(random.random()), {} #", "reset ignores its seed: of seed . it gave"),
        ("return f", "return str(random.random()), {} #", "reset ignores its seed: of seed . it gave two"),
        ("float(action", "1 / (action", r"step raised .* at line 20"),
        (
            'return "left',
            'action.index("l"); return "left',
            "step raised ValueError .*, at the answer ''",
        ),
        ('return "",', "time.sleep(9) or None,", r"step takes more than 1 s \(--env_timeout\)"),
        ("float(action == self.goal)", "None", r"step returned nothing \(None\) as the reward"),
        ("import random", "import randon", "importing it fails: ModuleNotFoundError"),
    ],
)
def test_what_breaks_is_one_line(tmp_path: Path, old: str, new: str, cause: str) -> None:
    assert old in SOURCE
    with pytest.raises(EpisodeError, match=cause):
        probe.probe(spec_of(tmp_path, SOURCE.replace(old, new, 1), timeout=1.0))


def test_nothing_to_learn_is_said_only_of_whole_episodes(tmp_path: Path) -> None:
    level = SOURCE.replace("float(action == self.goal)", "1.0")
    assert probe.probe(spec_of(tmp_path, level)).has_equal_returns
    endless = level.replace('""', '"on"').replace("True, False, {}\n", "False, False, {}\n")
    assert probe.probe(spec_of(tmp_path, endless, turns=5)).has_equal_returns  # cut by its own limit
    cut = probe.probe(spec_of(tmp_path, endless, turns=50))
    assert not cut.has_equal_returns and not cut.differs and "in the first 20 turns" in cut.line()


def test_a_step_is_timed_by_itself(tmp_path: Path) -> None:
    """Seventeen episodes wait for one another meanwhile."""
    slow = SOURCE.replace('return "",', 'time.sleep(0.3); return "",')
    seconds = probe.probe(spec_of(tmp_path, slow)).step_seconds
    assert seconds is not None and 0.3 <= seconds < 2.5  # of 5.1
    assert probe.probe(EnvSpec("frozenlake", max_turns=5)).step_seconds is None


def test_the_probe_ends_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "SECONDS", 2.0)
    slow, start = SOURCE.replace('return "",', 'time.sleep(30); return "",'), time.monotonic()
    played = probe.probe(spec_of(tmp_path, slow, timeout=100.0))
    assert time.monotonic() - start < 15 and played.missing and not played.has_equal_returns
    assert played.line() == "no episode ended within 2 s"


def test_the_commands(tmp_path: Path, prefork) -> None:
    (tmp_path / "mine.py").write_text(SOURCE.replace("float(action == self.goal)", "1.0"), encoding="utf-8")
    words, out = ("--env", f"{tmp_path}/mine.py:Mine", "--env_episodes", "128"), str(tmp_path / "out")
    refused = prefork.train_sh("check", *words, OUTPUT_DIR=out)
    assert refused.status == 2 and "cannot be trained on: each of 8 episodes returns 1" in refused.out + refused.err
    meant = prefork.train_sh("check_reward", *words, "--no_reward_check", OUTPUT_DIR=out)
    assert meant.status == 0 and meant.out.startswith("good and bad play are not told apart: each of 8 episodes")
    fine = prefork.train_sh("check_reward", "--env", "frozenlake", OUTPUT_DIR=out)
    assert fine.out.splitlines()[1] == "good and bad play can be told apart"
    (tmp_path / "out" / "runs" / "lake").mkdir(parents=True)
    settings = '{"given": {"ENV_NAME": "frozenlake"}, "overrides": []}'
    (tmp_path / "out" / "runs" / "lake" / "settings.json").write_text(settings, encoding="utf-8")
    for command in ("chat", "eval"):
        refused = prefork.train_sh(command, "lake", OUTPUT_DIR=out)
        assert refused.status == 2 and "lake has no checkpoint" in refused.err
    for command in ("chat", "eval"):
        refused = prefork.train_sh(command, "builtin:tiny", "--env", "frozenlak", OUTPUT_DIR=out)
        assert refused.status == 2 and "--env frozenlak: there is no such environment" in refused.err
    refused = prefork.train_sh("score", "some", "--env", "taxi", OUTPUT_DIR=out)
    assert refused.status == 2 and refused.err.count("\n") == 1 and "plays no episodes" in refused.err
