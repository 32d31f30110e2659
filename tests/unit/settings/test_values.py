"""The typed settings: each reading in the code is of the knob's own type, and nothing parses a value again."""

import ast
from collections.abc import Iterator, Mapping

import pytest

from trainer import ROOT
from trainer.settings.knobs import AUTO, load_knobs
from trainer.settings.resolve import resolve
from trainer.settings.settings import read_settings
from trainer.settings.values import Values

TYPES = {
    "text": {"text", "choice", "switch_or_choice"},
    "integer": {"int"},
    "integer_or_none": {"int"},
    "number": {"float"},
    "switch": {"switch"},
    "words": {"list"},
}
KNOBS = {knob.env: knob for knob in load_knobs()}
RESOLVED = {"N_GPUS", "BATCH_SIZE", "MINI_BATCH_SIZE"}  # auto in the table, a number in the settings
MIXED = {"EXPORT_STEP"}  # a step, or one of two words


def readings() -> Iterator[tuple[str, str, str]]:
    """Place, method and knob of every ``settings.integer("SEED")`` of the launcher."""
    for path in sorted((ROOT / "trainer").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in TYPES:
                for word in node.args[:1]:
                    if isinstance(word, ast.Constant) and word.value in KNOBS:
                        yield f"{path.relative_to(ROOT)}:{node.lineno}", node.func.attr, str(word.value)


def test_each_knob_is_read_as_what_it_is() -> None:
    found = list(readings())
    assert len(found) > 100
    for place, method, env in found:
        knob = KNOBS[env]
        assert knob.type in TYPES[method], (place, method, env)
        words = AUTO in (knob.default, *knob.allowed.split("|")) or "none" in knob.allowed
        if method in ("integer", "number"):
            assert not words or env in RESOLVED, (place, method, env)


def test_nobody_behind_the_settings_reads_a_bare_value() -> None:
    for path in sorted((ROOT / "trainer").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "settings.values":
                assert not isinstance(node.slice, ast.Constant) or node.slice.value in MIXED, (path, node.lineno)


@pytest.mark.parametrize("gpus", [0, 8])
def test_every_knob_has_a_value_of_its_type_and_none_can_be_changed(gpus) -> None:
    values = read_settings({}, [], gpus=gpus).values
    kinds = {"int": int, "float": float, "switch": bool, "list": list, "text": str, "choice": str}
    kinds["switch_or_choice"] = str
    for env, knob in KNOBS.items():
        assert isinstance(values[env], kinds[knob.type]) or values[env] in (None, AUTO), env
    with pytest.raises(TypeError):
        values["SEED"] = 2  # type: ignore[index]
    with pytest.raises(AssertionError, match="SEED"):
        values.text("SEED")


def test_what_is_resolved_leaves_what_was_given_alone() -> None:
    given: Mapping[str, object] = {"BATCH_SIZE": AUTO, "ROLLOUT_N": 3, "N_GPUS": 7}
    before = dict(given)
    values, fitted, defaults = resolve(load_knobs(), given, 8)  # type: ignore[arg-type]
    assert given == before
    assert (values["BATCH_SIZE"], values["MINI_BATCH_SIZE"], fitted) == (
        252,
        63,
        ("batch 252 for 256", "mini batch 63 for 64"),
    )
    assert defaults == {"BATCH_SIZE": 256, "MINI_BATCH_SIZE": 64}
    assert isinstance(values, Values)
    assert values.having(SEED=5).integer("SEED") == 5 != values.integer("SEED")
