"""./train.sh init DIR: a project that is ready to launch, and never anything overwritten."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import train_sh
from trainer import ROOT
from trainer.commands.standalone import init

FILES = ["README.md", "reward_function.py", "test_reward_function.py", "train.jsonl", "train.yaml"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_project_is_ready_to_launch(tmp_path) -> None:
    """Its test passes, its data and its reward hold before a launch, and a run would write into it."""
    result = train_sh("init", "mine and yours", cwd=tmp_path)
    project = tmp_path / "mine and yours"
    assert (result.status, result.err) == (0, "")
    assert names(project) == FILES
    assert f"cd 'mine and yours' && {ROOT}/train.sh check --config train.yaml" in result.out
    subprocess.run([sys.executable, "test_reward_function.py"], cwd=project, check=True, capture_output=True)
    checked = train_sh("check", "--device", "cpu", "--config", str(project / "train.yaml"), cwd=tmp_path)
    assert checked.status == 0, checked.out + checked.err
    assert "train.jsonl: 487 prompts to train on, 25 held out" in checked.out
    assert "right answers score 1.00, empty ones 0.00" in checked.out
    plan = train_sh("--dry_run", "--device", "cpu", "--config", "train.yaml", cwd=project)
    assert plan.status == 0, plan.err
    assert str(project / "outputs" / "runs") in plan.out


def test_its_reward_is_tested_by_what_can_fail(tmp_path) -> None:
    train_sh("init", "mine", cwd=tmp_path)
    function = tmp_path / "mine" / "reward_function.py"
    function.write_text(function.read_text().replace("numbers[-1]", "numbers[0]"))
    result = subprocess.run(
        [sys.executable, "test_reward_function.py"], cwd=tmp_path / "mine", check=False, capture_output=True, text=True
    )
    assert result.returncode == 1
    assert "('15 + 27 = 42', '42')" in result.stderr


def test_each_command_of_its_readme_is_one(tmp_path) -> None:
    """In both languages the same commands, all of which name files that are there."""
    commands = {}
    for language in ("en", "zh"):
        assert train_sh("init", language, "--lang", language, cwd=tmp_path).status == 0
        text = (tmp_path / language / "README.md").read_text(encoding="utf-8")
        block = text.split("```bash\n")[1].split("```")[0]
        commands[language] = [line.partition("#")[0].split() for line in block.splitlines()]
        assert "{" not in text
    assert commands["en"] == commands["zh"]
    assert [words[1] for words in commands["en"]] == [
        "test_reward_function.py",
        "check_reward",
        "check",
        "--config",
        "eval",
        "chat",
    ]
    made = train_sh("init", "by_locale", cwd=tmp_path, LANG="zh_CN.UTF-8", LC_ALL="")
    assert (made.status, made.out.splitlines()[0].split("：")[0]) == (0, "已在 by_locale 里创建")
    assert (tmp_path / "by_locale" / "README.md").read_text(encoding="utf-8").startswith("# 训练项目")


def code(source: str) -> str:
    """Return what a program does, without docstrings and what it prints."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [line for line in body if not isinstance(line, ast.Expr)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def test_both_languages_have_the_same_files() -> None:
    english, chinese = (init.files(language, "train.sh") for language in ("en", "zh"))
    assert list(english) == list(chinese) and english["train.jsonl"] == chinese["train.jsonl"]
    for name in ("reward_function.py", "test_reward_function.py"):
        assert code(english[name]) == code(chinese[name])
    flags = [re.findall(r"^(?:# )?(\w+: [^#\n]+?)(?: #.*)?$", of["train.yaml"], re.M) for of in (english, chinese)]
    assert flags[0] == flags[1] and len(flags[0]) == 10
    for name in FILES:
        assert bool(re.search("[\u4e00-\u9fff]", chinese[name])) is (name != "train.jsonl")
        assert not re.search("[\u4e00-\u9fff]", english[name])


def test_nothing_is_overwritten(tmp_path) -> None:
    """One file that is there stops all; others of the folder are no obstacle."""
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "train.yaml").symlink_to("nowhere")
    result = train_sh("init", str(tmp_path))
    assert result.status == 2
    assert result.complaints == [
        f"train.sh: init {tmp_path}: train.yaml: there already, and not overwritten; name another"
    ]
    assert names(tmp_path) == ["notes.txt", "train.yaml"]
    (tmp_path / "train.yaml").unlink()
    assert train_sh("init", ".", cwd=tmp_path).status == 0
    assert names(tmp_path) == sorted([*FILES, "notes.txt"])


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "init: give the folder of the new project, as in ./train.sh init mine; --lang zh"),
        (["a", "b"], "init: one folder is wanted, as in ./train.sh init mine, not a b"),
        ([""], "init: a word is empty (an unset shell variable?); give the folder that is meant"),
        (["a", "--lr", "1"], "init: --lr: it takes a folder and --lang alone; flags of a run go into train.yaml"),
        (["a", "--lang", "fr"], "--lang fr: there are en and zh"),
        (["file"], "init file: a part of the path is a file, not a folder; name another folder"),
        (["file/x"], "init file/x: a part of the path is a file, not a folder; name another folder"),
        (["x" * 300], "the name is too long"),
        (["link"], "init link: it is a link that leads nowhere; name another folder"),
        (["/proc/mine"], "init /proc/mine: nothing can be written there; name another folder"),
        (["~nobody-there/mine"], "init ~nobody-there/mine: there is no user nobody-there; name another folder"),
        (["new\nline"], "init new\\nline: it has characters that cannot be printed; take them out"),
    ],
)
def test_bad_input_is_one_line(tmp_path, words, line) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("nowhere")
    result = train_sh("init", *words, cwd=tmp_path)
    assert result.status == 2
    assert len(result.complaints) == 1
    assert line in result.complaints[0]
    assert names(tmp_path) == ["file", "link"]
    zh = train_sh("init", *words, cwd=tmp_path, LANG="zh_CN.UTF-8", LC_ALL="")
    said = next(row for row in zh.err.splitlines() if row.startswith("train.sh")).replace("./train.sh init mine", "")
    assert not re.search("[a-z]{3,} [a-z]{2,} [a-z]{2,}", said), said


def test_its_help_says_how(tmp_path) -> None:
    for words in (["--help"], ["mine", "-h"]):
        result = train_sh("init", *words, cwd=tmp_path)
        assert (result.status, result.out.startswith("give the folder of the new project")) == (0, True)
    assert names(tmp_path) == []
