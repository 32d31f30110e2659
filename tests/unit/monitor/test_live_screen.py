"""The live screen: what it shows, and that text of the model cannot act on the terminal."""

import io
import json
import math

from rich.console import Console

from reward.support import events
from trainer.monitor import live_screen
from trainer.monitor.progress import Progress


def drawn(progress, rollouts, width=120) -> str:
    console = Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)
    console.print(live_screen.View(progress, rollouts))
    return console.file.getvalue()


def progressed(folder, steps, **more) -> Progress:
    progress = Progress(folder, 40, lambda text: None, watched=True)
    with (folder / "metrics.jsonl").open("w") as file:
        for step in range(steps + 1):
            data = {"val-core/arith/acc/mean@1": 0.5} if step == 0 else {"critic/score/mean": step / 100, **more}
            file.write(json.dumps({"step": step, "data": data}) + "\n")
    progress.follow()
    return progress


def test_the_start_up_says_what_is_waited_for(tmp_path) -> None:
    progress = progressed(tmp_path, -1)
    events.append(progress.events, "worker", "phase", name="critic_loaded")
    progress.follow()
    text = drawn(progress, tmp_path)
    assert text.startswith("step 0/40  0 s so far  the critic is loaded; loading the actor (0 s)")


def test_training(tmp_path) -> None:
    more = {"actor/reward_kl_penalty": 0.5, "perf/throughput": 1234.5}
    progress = progressed(tmp_path, 25, **more)
    progress.step_ends = [float(10 * step) for step in range(25)]
    lines = drawn(progress, tmp_path).splitlines()
    assert lines[0].startswith("step 25/40")
    for words in ("about 2 min 30 s to go", "1,234 tokens/s", "held-out accuracy 50.0%"):
        assert words in lines[0]
    (reward,) = [line for line in lines if line.startswith("reward_mean")]
    assert reward.split()[1:3] == ["0.25", "▁▁▂▂▂▃▃▃▃▄▄▄▅▅▅▆▆▆▆▇▇▇██"]
    assert "healthy: rising" in reward


def test_text_of_the_model_cannot_act_on_the_terminal(tmp_path) -> None:
    (tmp_path / "train").mkdir()
    row = {"input": "1 + 1 = ", "output": "\x1b[2J\x1b]0;owned\x07[red]3[/red]\r\n\u202e4", "score": 0.0}
    (tmp_path / "train" / "2.jsonl").write_text(json.dumps(row) + "\n")
    text = drawn(progressed(tmp_path, 2), tmp_path)
    (sample,) = [line for line in text.splitlines() if "a sample" in line]
    assert "1 + 1 = -> [2J ]0;owned [red]3[/red]" in sample
    assert "(score 0)" in sample
    assert not {"\x1b", "\x07", "\r", "\u202e"} & set(text)


def test_sparkline() -> None:
    assert live_screen.sparkline([0.0, 1.0, math.nan, 0.5]) == "▁█ ▅"
    assert live_screen.sparkline([2.0, 2.0]) == "▁▁"
    assert live_screen.sparkline([math.nan]) == ""
    assert [live_screen.clock(seconds) for seconds in (59.9, 61, 3660)] == ["59 s", "1 min 01 s", "1 h 01 min"]
