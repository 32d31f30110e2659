"""Shared by the tests that start the whole stack."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import background


@pytest.fixture
def start(output: Path, tmp_path: Path) -> Iterator[background.Start]:
    """Start runs in the background; nothing is left of them afterwards."""
    with background.runs(output, tmp_path) as started:
        yield started
