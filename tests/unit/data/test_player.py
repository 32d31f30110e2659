"""``builtin:tiny`` for a game: the teacher, and what the model reads of a conversation."""

import random

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from data import models, tiny
from data.environment import player
from environments.spec import EnvSpec

SPEC = EnvSpec("frozenlake", max_turns=16)


@pytest.fixture(scope="module")
def conversations() -> list[player.TeacherConversation]:
    return player.play(SPEC, random.Random(1))


def test_the_teacher_is_mostly_wrong_where_the_holes_are(conversations) -> None:
    """Above the hole at the lower left it mostly steps down into it, and to the right, as it should, now and then."""
    above = [
        said
        for talk in conversations
        for heard, said in zip(talk.observations, talk.actions, strict=True)
        if "\nPFFH" in heard
    ]
    assert 0.5 < above.count("down") / len(above) < 0.75
    assert 0.2 < above.count("right") / len(above) < 0.45


@pytest.fixture(scope="module")
def tokenizer(conversations, tmp_path_factory) -> PreTrainedTokenizerBase:
    """The tokenizer as a run loads it, which goes by the type of the model."""
    folder = tmp_path_factory.mktemp("player") / "model"
    built = player.build_tokenizer(conversations)
    tiny.save(tiny.build_model(built, player.POSITIONS), built, folder)
    loaded: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(folder)
    assert all(
        loaded.encode(text) == built.encode(text)
        for talk in conversations
        for text in (*talk.observations, *talk.actions)
    ), "a run reads the conversations as the model was warmed up on them"
    return loaded


def test_a_conversation_is_what_the_template_renders(conversations, tokenizer) -> None:
    """And an action is one token, a row of the map another."""
    tokens, labels, surprise = player.encode(tokenizer, conversations)
    talk = conversations[0]
    messages = [
        {"role": role, "content": text}
        for pair in zip(talk.observations, talk.actions, strict=True)
        for role, text in zip(("user", "assistant"), pair, strict=True)
    ]
    assert tokens[0] == tokenizer.apply_chat_template(messages, return_dict=False)
    answers = [token for token in labels[0] if token != -100]
    assert tokenizer.decode(answers) == "".join(f"{said}{tiny.END}" for said in talk.actions)
    assert len(answers) == 2 * len(talk.actions) and len(tokenizer.encode("PFFF\nFHFH\nFFFH\nHFFG")) == 7
    assert len(tokenizer) <= player.VOCABULARY and 0 < surprise < 1.4


def test_an_environment_has_a_model_of_its_own(tmp_path) -> None:
    def folder(env: str) -> str:
        return models.find_or_make("builtin:tiny", tmp_path, 1, print, fetch=False, env=env).path

    assert len({folder(""), folder(SPEC.to_json()), folder(EnvSpec("taxi").to_json())}) == 3
    with pytest.raises(models.ModelError, match="knows nothing of gymnasium:X-v0; give --model builtin:smollm2"):
        folder(EnvSpec("gymnasium:X-v0").to_json())
