"""Messages in Chinese: the table is whole, and each row of it is of a message that there is."""

import ast
import itertools
import re

import pytest

from trainer import ROOT
from trainer.settings import messages

ROWS = messages.table()
FORMS = re.compile(r"\[(\w+)(?:\|\w+)*\]")  # of one thing and of several
CHINESE = re.compile("[\u4e00-\u9fff]")


def texts_of_the_code() -> str:
    """All texts in the code, f-strings with what they hold left out, and the scripts: one string."""
    texts = []
    for package in ("trainer", "data", "reward"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                parts = node.values if isinstance(node, ast.JoinedStr) else [node]
                texts.append("".join(p.value if is_text(p) else "" for p in parts))
    scripts = (ROOT / "train.sh", ROOT / "test.sh", *(ROOT / "trainer" / "setup").glob("*.sh"))
    texts += [script.read_text(encoding="utf-8") for script in scripts]
    return "\n".join(texts)


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_both_languages_say_the_same() -> None:
    assert len(ROWS) > 100
    for english, chinese in ROWS:
        names = [sorted(messages.PLACEHOLDER.findall(text)) for text in (english, chinese)]
        assert names[0] == names[1], english
        assert chinese != english, english
        assert not CHINESE.search(english), english


def test_no_row_stands_in_the_way_of_another() -> None:
    for english, chinese in ROWS:
        filled = (messages.PLACEHOLDER.sub("7", FORMS.sub(r"\1", text)) for text in (english, chinese))
        assert messages.chinese(next(filled)) == next(filled), english


def test_one_row_is_of_one_thing_and_of_several() -> None:
    assert {messages.chinese(f"8 passed, {warnings}, 0 to fix (2 s)") for warnings in ("1 warning", "1 warnings")} == {
        "8 项通过，1 个警告，0 项要修（2 秒）"
    }
    said = "--batch_size 8: there {} to train on; give --batch_size 4 at most, or leave it out"
    for prompts, number in (("is 1 prompt", 1), ("are 4 prompts", 4)):
        assert f"训练用的提示只有 {number} 个" in messages.chinese(said.format(prompts))


def test_no_message_has_a_row_for_one_and_a_row_for_several() -> None:
    alike = [re.sub(r"\{\w+\}|\b1\b|s\b", "", FORMS.sub(r"\1", english)) for english, _ in ROWS if len(english) > 20]
    assert sorted(alike) == sorted(set(alike))


def test_each_row_is_a_message_of_the_code() -> None:
    """By pairs of words in its longest piece of text: a third of them, as parts of a message may be made apart."""
    texts = texts_of_the_code()
    for english, _ in ROWS:
        words = max(re.split(r"\{\w+\}|\d", FORMS.sub(r"\1", english)), key=len).split()
        pairs = [f"{first} {second}" for first, second in itertools.pairwise(words)]
        pairs = [pair for pair in pairs if re.search("[a-z] [a-z]", pair)]
        there = [pair for pair in pairs if pair in texts or re.sub(r"s\b", "", pair) in texts]
        assert 3 * len(there) >= len(pairs), english


@pytest.mark.parametrize(
    "line",
    [
        "train.sh: /srv/w was not finished: run ./train.sh wheelhouse again where there is a package index",
        "train.sh: /srv/w: a.whl, b.whl: damaged, by its checksum; copy it again from where the wheelhouse was made",
        "train.sh: /srv/w: made for Python 3.12, and python3 is 3.11 (PYTHON=/path/to/python3.12 chooses another); "
        "make one for this machine: ./train.sh wheelhouse",
        "train.sh: uv==0.13.8 cannot be installed from /srv/w: no space (log: outputs/setup.log)",
        "train.sh: .venv is a link to /srv/v, an environment of another lock, which is left as it is; use it with "
        "VENV=.venv, or remove the link to have one made",
        "train.sh: eval: which model? Name a run or a model, as in ./train.sh eval RUN; the last runs: a, b",
        "train.sh: report: x: no such run in outputs/runs; none has a similar name",
        "train.sh: ended at step 3 by --stop_on reward: every response of the last 5 steps had the reward 0; "
        "--resume a continues from global_step_2",
        "packages of config/requirements/cpu.txt",
        "train.sh: algorithm.adv_estimator=gea: allowed: gae, grpo; did you mean gae?",
        "train.sh: actor_rollout_ref.hybrid_engine=false: allowed: true; for a vLLM with GPUs of its own take --async "
        "separate",
        "train.sh: actor_rollout_ref.actor.clip_ratio=abc: allowed: a number 0 or more",
        "train.sh: data.train_batch_size=0: the kit prepares this by --batch_size: allowed: a whole number from 1 to 9",
        "train.sh: x.lrr: verl has no such setting; did you mean x.lr, or x.b? (+x.lrr=... adds one that its files do "
        "not list)",
        "train.sh: --rm_scale: '10-1' is no scale: the worst score must be below the best, such as 1-10",
        "train.sh: --rm_api_type openai: the key in OPENAI_API_KEY is refused: 401",
        "train.sh: --rm_model x: openai has no such model, or nothing answers at that URL: 404",
        "train.sh: qwen-plus at dashscope: no key; looked for A and B in the environment: export A=...",
        "train.sh: --reward_model a/b: its weights lack score.weight: not a whole reward model",
        "train.sh: --reward_model a/b: its tokenizer has no chat template; give one with --rm_template FILE.jinja",
        "train.sh: --rm_engine vllm: vLLM does not serve this architecture; leave it out, or take --rm_engine "
        "transformers",
        "warning: reward model: it does not rank good answers above bad ones in math; is it the right model?",
        "train.sh: score: '/x': there is no such file or folder; give a JSONL file of answers",
        "data: --max_prompt_length is 41: the default is 16, and all 190 prompts exceed it",
        "data: prompts have 9 tokens (median) to 90 (2,000 of 7,000 measured); about 13 are over the limit of 64 and "
        "are left out",
        "prompts were not measured: the tokenizer of a/b is not on this machine, and a dry run fetches nothing; "
        "./train.sh check measures them",
    ],
)  # fmt: skip
def test_a_message_is_in_chinese_as_a_whole(line) -> None:
    assert not re.search("[a-z]{3,} [a-z]{2,} [a-z]{2,}", messages.chinese(line)), messages.chinese(line)


def test_what_a_run_says_is_in_the_table() -> None:
    """Each line that the README shows of a run."""
    block = (ROOT / "README.md").read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    for line in block.splitlines():
        if line.strip() not in ("", "..."):
            assert CHINESE.search(messages.chinese(line)), line
