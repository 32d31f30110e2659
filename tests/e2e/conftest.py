"""Shared by the tests that start the whole stack."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import background


@pytest.fixture(scope="session", autouse=True)
def models(output: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Built-in models, which take minutes to make, are made once for all workers of pytest-xdist."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = tmp_path_factory.getbasetemp().parent / "models"
        shared.mkdir(exist_ok=True)
        (output / "cache").mkdir(exist_ok=True)
        (output / "cache" / "models").symlink_to(shared)


@pytest.fixture
def start(output: Path, tmp_path: Path) -> Iterator[background.Start]:
    """Start runs in the background; nothing is left of them afterwards."""
    with background.runs(output, tmp_path) as started:
        yield started
