"""z-scores of a composite: one place for a run, whoever scored, in whatever order; and on after a restart."""

import asyncio
import json
import random
import statistics

import pytest

from reward import entry
from reward.zscore import OF_A_MODEL, ZScores

SECTION = json.dumps({"weights": {"rule_score": 1.0, "length_penalty": 0.5}, "scale": {"length_penalty": "zscore"},
                      "options": {"length_penalty": {"limit": 40, "buffer": 40, "unit": "characters"}}})  # fmt: skip


def scored(response: str, truth: str = "4") -> dict[str, float]:
    """One response as a reward worker scores it."""
    return asyncio.run(entry.compute_composite("arith", response, truth, {}, composite=SECTION))


def made() -> ZScores:
    found = ZScores.of(SECTION)
    assert found is not None
    return found


RESULTS = [scored("4" + " " * n) for n in range(0, 40, 5)]


def test_a_worker_knows_only_raw_values() -> None:
    assert RESULTS[3]["length_penalty"] == -0.4
    assert (RESULTS[3]["length_penalty_scaled"], RESULTS[3]["score"], RESULTS[3]["rule_score"]) == (0.0, 1.0, 1.0)


def test_the_batch_is_seen_before_it_is_scaled() -> None:
    zscores, raw = made(), [each["length_penalty"] for each in RESULTS]
    zscores.see(RESULTS)
    mean, std = statistics.fmean(raw), statistics.stdev(raw)
    for result in RESULTS:
        found = zscores.scaled(result)
        assert list(found) == list(result)
        assert found["length_penalty_scaled"] == pytest.approx((result["length_penalty"] - mean) / std)
        assert found["score"] == pytest.approx(1.0 + 0.5 * found["length_penalty_scaled"])
        assert found["acc"] == 1.0
    assert zscores.metrics["reward/length_penalty_seen_std"] == pytest.approx(std)


def test_order_and_number_of_workers_do_not_matter() -> None:
    """Results of one worker, or of several that end in any order: the same to the last bit."""
    one, other, mixed = made(), made(), random.Random(0).sample(RESULTS, len(RESULTS))
    one.see(RESULTS)
    other.see(mixed)
    assert one.seen == other.seen
    assert {json.dumps(one.scaled(each)) for each in RESULTS} == {json.dumps(other.scaled(each)) for each in mixed}


def test_a_resumed_run_goes_on_with_what_it_has_seen() -> None:
    whole, before = made(), made()
    for zscores in (whole, before):
        zscores.see(RESULTS[:5])
    after = made()
    after.load_state_dict(json.loads(json.dumps(before.state_dict())))
    for zscores in (whole, after):
        zscores.see(RESULTS[5:])
    assert after.seen == whole.seen
    assert after.seen["length_penalty"].count == len(RESULTS)


def test_unscored_samples_are_neither_seen_nor_scaled() -> None:
    broken = scored("4", truth="")  # the rule cannot use it
    assert broken["unscored"] == 1.0
    zscores = made()
    zscores.see([*RESULTS, broken])
    assert zscores.seen["length_penalty"].count == len(RESULTS)
    assert zscores.scaled(broken) == broken


def test_a_model_alone() -> None:
    assert ZScores.of() is None
    zscores = ZScores.of(running_model=True)
    assert zscores is not None
    assert zscores.composite is OF_A_MODEL
    results = [
        {"score": raw, "unscored": 0.0, "timeout": 0.0, "rm_score": raw, "rm_truncated": 0.0} for raw in (3.0, 5.0)
    ]
    zscores.see(results)
    assert [zscores.scaled(each)["score"] for each in results] == pytest.approx([-(0.5**0.5), 0.5**0.5])


def test_one_value_alone_is_0_and_a_wild_one_is_cut() -> None:
    zscores = made()
    zscores.see(RESULTS[:1])
    assert zscores.scaled(RESULTS[0])["length_penalty_scaled"] == 0.0
    zscores.see(RESULTS)
    assert zscores.scaled({**RESULTS[0], "length_penalty": 1e9})["length_penalty_scaled"] == 5.0
