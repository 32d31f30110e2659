"""Columns on their way through the transfer queue: what arrives is what was sent, in fewer pieces."""

import pytest
import torch
import verl  # noqa: F401  (loads the kit's plugin)
from transfer_queue.utils import serial_utils
from verl.utils.tensordict_utils import list_of_dict_to_tensordict

from tests.support.upstream import run
from trainer.workers.rollout.queue_columns import Table

LENGTHS = (3, 0, 7, 1)


def sent(value):
    """What arrives, and the number of frames that it came in."""
    frames = [bytes(frame) for frame in serial_utils.encode({"body": {"data": {"column": value}}})]
    return serial_utils.decode(frames)["body"]["data"]["column"], len(frames)


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.bfloat16, torch.float64, torch.bool, torch.uint8])
def test_a_column_arrives_in_one_piece(dtype) -> None:
    column = [torch.randint(0, 2, (length,)).to(dtype) for length in LENGTHS]
    found, frames = sent(column)
    assert frames == 1
    assert [each.dtype for each in found] == [dtype] * 4
    assert all(torch.equal(there, here) for there, here in zip(found, column, strict=True))


def test_what_has_a_gradient_is_sent_without_it() -> None:
    found, _ = sent([torch.ones(2, requires_grad=True), torch.ones(1)])
    assert [each.tolist() for each in found] == [[1, 1], [1]]


@pytest.mark.parametrize(
    "value",
    [
        [torch.ones(2)],
        [torch.ones(2), torch.ones(2, 2)],
        [torch.ones(2), torch.ones(2, dtype=torch.int64)],
        [torch.tensor(1.0), torch.tensor(2.0)],
        ["a", "b"],
        [{"a": [1, 2]}, {}],
        [],
        torch.ones(2, 3),
    ],
)
def test_all_else_is_sent_as_it_was(value) -> None:
    found, _ = sent(value)
    assert type(found) is type(value)
    assert str(found) == str(value)


def test_the_queue_still_needs_it() -> None:
    """transfer_queue/utils/serial_utils.py sends each tensor in a frame of its own."""
    code = """
        {with_the_kit}
        import torch
        from transfer_queue.utils import serial_utils
        print(len(serial_utils.encode({{"data": [torch.ones(3)] * 9}})))
    """
    ours, theirs = (run(code.format(with_the_kit=text), "").stdout.split()[-1] for text in ("import verl", ""))
    assert ours == "1"
    assert theirs == "10", "the queue now sends columns: drop trainer/workers/rollout/queue_columns.py"


def test_a_table_has_verls_columns() -> None:
    rows = [
        {"prompts": torch.ones(2), "responses": torch.ones(n), "uid": f"u{n}", "info": {"n": n}, "number": n}
        for n in (1, 4)
    ]
    ours, theirs = Table(rows), list_of_dict_to_tensordict(rows)
    assert ours.batch_size == theirs.batch_size
    assert list(ours) == list(theirs.keys())
    for name in ("prompts", "responses"):
        assert ours[name].is_nested == theirs[name].is_nested
        assert str(ours[name].unbind()) == str(theirs[name].unbind())
    for name in ("uid", "info", "number"):
        assert ours[name] == list(theirs[name])
