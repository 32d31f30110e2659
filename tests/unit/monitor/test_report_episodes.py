"""The report of a run whose answers are conversations: turn by turn, with returns, lengths and success."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from trainer.monitor import live_screen
from trainer.monitor.report import episodes, page
from trainer.monitor.report.run_record import read

HOSTILE = "<script>parent.hacked=1</script>"


def episode(rewards: list[float], words: str = "left") -> dict[str, Any]:
    """One answer as a run writes it."""
    turns = []
    for number, reward in enumerate(rewards):
        turns += [
            {"role": "assistant", "content": words, "reward": reward},
            {"role": "user", "content": f"map {number}"},
        ]
    return {"input": f"rules {len(rewards)}", "output": "all in one", "score": sum(rewards), "turns": turns}


def make_run(folder: Path) -> Path:
    (folder / "rollouts" / "validation").mkdir(parents=True)
    data = [{"val-core/env:lake/acc/mean@1": 0.0}, {"episode/turns": 2.5, "episode/cut": 0.5, "reward/acc": 0.25}]
    lines = [json.dumps({"step": step, "data": each}) for step, each in enumerate(data)]
    (folder / "metrics.jsonl").write_text("\n".join(lines))
    before, after = [episode([0.0, -1.0], HOSTILE), episode([0.0])], [episode([0.0, 1.0]), episode([0.5, 0.0, 0.0])]
    for step, rows in ((0, before), (4, after)):
        text = "\n".join(map(json.dumps, rows))
        (folder / "rollouts" / "validation" / f"{step}.jsonl").write_text(text + '\n{"turns": 5}\n[]\n{"cut o')
    return folder


def test_conversations_in_numbers(tmp_path) -> None:
    first, last = read(make_run(tmp_path / "lake")).episodes
    assert first == episodes.EpisodeStatistics(0, [(1, 0.5), (2, 0.5)], [(1, 0.0), (2, -0.5)])
    assert last == episodes.EpisodeStatistics(4, [(1, 0.0), (2, 0.5), (3, 0.5)], [(1, 0.25), (2, 0.75), (3, 0.75)])


def test_the_page_shows_turns_and_curves(tmp_path) -> None:
    text = page.build([read(make_run(tmp_path / "lake"))])
    for title in ("Episodes", "turns of the model", "success", "held-out return after each turn", "by their turns"):
        assert title in text
    assert "all in one" not in text and HOSTILE not in text
    said = re.findall(r'<p class="small soft">(\w+)(?:, reward (\S+?))?</p><pre>([^<]*)</pre>', text)
    assert said[:4] == [
        ("assistant", "0", "&lt;script&gt;parent.hacked=1&lt;/script&gt;"),
        ("user", "", "map 0"),
        ("assistant", "-1", "&lt;script&gt;parent.hacked=1&lt;/script&gt;"),
        ("user", "", "map 1"),
    ]
    assert "step 4: 0.75 at turn 3" in text


def test_calls_are_shown_and_earn_nothing_by_turns() -> None:
    call = {"name": "calculate", "arguments": '{"expression": "1+1"}'}
    said = [{"role": "assistant", "content": "", "tool_calls": [call]}, {"role": "tool", "content": "2"}]
    row = {"turns": [*said, {"role": "assistant", "content": "It is 2."}], "output": "-"}
    held = episodes.of_rows(3, [row])
    assert held == episodes.EpisodeStatistics(3, [(1, 0.0), (2, 1.0)], [])
    assert live_screen.spoken(row) == 'assistant: calculate({"expression": "1+1"}) | tool: 2 | assistant: It is 2.'


@pytest.mark.parametrize("turns", [None, 5, "x", [], [5], [{}], [{"role": 5, "content": 7, "reward": "x"}]])
def test_what_is_damaged_is_no_conversation(turns: object) -> None:
    assert episodes.of_rows(1, [{"turns": turns}]) is None
    assert live_screen.spoken({"output": "words"}) == "words"
