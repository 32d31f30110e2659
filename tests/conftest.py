"""Shared by the tests: a model made in a moment, a folder for real runs, quick composing and judging."""

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import setuptools  # noqa: F401  # before pip, which takes distutils from whoever comes after it

TIERS = ("unit", "process", "e2e")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with its tier: the folder of ``tests/`` that it is in."""
    for item in items:
        for tier in TIERS:
            if tier in item.path.relative_to(Path(__file__).parent).parts[:1]:
                item.add_marker(tier)


@pytest.fixture(scope="session")
def small_model(tmp_path_factory) -> Path:
    """The architecture and tokenizer of builtin:tiny with random weights."""
    import torch

    from data import tiny

    folder = tmp_path_factory.mktemp("model") / "small"
    torch.manual_seed(0)
    tokenizer = tiny.build_tokenizer()
    tiny.build_model(tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def output(tmp_path_factory) -> Path:
    """One output folder for all real runs, so that the built-in models are made once."""
    return tmp_path_factory.mktemp("outputs")


@pytest.fixture(scope="module")
def compose_once() -> Iterator[None]:
    """Read the YAML files once for each choice of them, which takes most of a second; resolve them each time."""
    from trainer.settings.verl_schema import settings_tree

    made: dict[object, bytes] = {}
    real = settings_tree.compose_files

    def cached(*choices: object) -> Any:
        key = (settings_tree.ROOT, *choices)
        if key not in made:
            made[key] = pickle.dumps(real(*choices))
        return pickle.loads(made[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings_tree, "compose_files", cached)
        yield


@pytest.fixture
def judge_keys(monkeypatch) -> None:
    """The key that ``judge_server`` wants, where each provider looks for it."""
    from tests.support.judge_server import KEY

    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "DASHSCOPE_API_KEY", "JUDGE_API_KEY"):
        monkeypatch.setenv(name, KEY)


@pytest.fixture
def short_pauses(monkeypatch) -> None:
    """Pauses between the gateway's attempts that a test can wait for."""
    monkeypatch.setattr("reward.judge.gateway.gateway.FIRST_PAUSE", 0.005)
