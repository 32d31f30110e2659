"""Both engines give one model the same scores: vLLM's server, started as a person would, and transformers."""

import asyncio

import pytest

from reward.model.client import RewardModelClient
from reward.model.errors import RewardModelError
from reward.model.messages import conversation
from reward.model.serving.server import served_model
from reward.model.spec import RewardModelSpec
from tests.support import reward_models, vllm_server

pytestmark = pytest.mark.slow  # a minute for the server to start
# In float32 they differ in the order of sums alone; 3e-7 measured.
NEAR = {"abs": 1e-3}
TALKS = [
    conversation("What is 2+2?", "It is 4."),
    conversation([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "数学?"}], "ok " * 40),
    conversation("Tell me more. " * 100, "No."),
]


KEY = "key-of-the-reward-model-0123456789"


@pytest.fixture(params=["qwen3", "llama"])
def served(request, tmp_path):
    folder = reward_models.MAKERS[request.param](tmp_path / request.param)
    with vllm_server.serving(folder, tmp_path / "log", 1024, KEY) as url:
        yield folder, url


def scores(spec: RewardModelSpec) -> list[float]:
    client = RewardModelClient(spec)

    async def ask() -> list[float]:
        return [found["score"] for found in await asyncio.gather(*map(client.score, TALKS))]

    return asyncio.run(ask())


def test_the_same_scores_for_who_has_the_key(served, monkeypatch) -> None:
    folder, url = served
    for key, said in (("", "HTTP 401: the server asks for a key; export RM_API_KEY"), ("no", "refuses the key in RM_")):
        monkeypatch.setenv("RM_API_KEY", key)
        with pytest.raises(RewardModelError, match=said):
            served_model(url)
    monkeypatch.setenv("RM_API_KEY", KEY)
    spec = RewardModelSpec(str(folder), url=url, served=served_model(url), max_length=1024)
    here = scores(RewardModelSpec(str(folder), max_length=1024))
    assert len({round(score, 2) for score in here}) == 3
    assert scores(spec) == pytest.approx(here, **NEAR)
    pooling = RewardModelSpec(str(folder), url=f"{url}/pooling", served=served_model(url), max_length=1024)
    assert scores(pooling) == pytest.approx(here, **NEAR)
