"""``test.sh`` without arguments: all tiers, and what fails run once more alone."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import clean_environment
from trainer import ROOT

SET_UP = "find_python() {{ echo {0}; }}\nmake_environment() {{ :; }}\ninstall_tools() {{ KIT_PYTHON={0}; }}\n"
SET_UP += "compile_kit() {{ :; }}\n"
MARKERS = '[tool.pytest.ini_options]\nmarkers = ["unit", "process", "e2e"]\n'
TESTS = """
import os
from pathlib import Path
import pytest

@pytest.mark.process
@pytest.mark.skipif("again" in os.environ.get("NO_E2E_AFTER", "") and Path("seen-0").exists(), reason="late")
@pytest.mark.parametrize("number", range({number}))
def test_only_the_second_time(number):
    seen = Path(f"seen-{{number}}")
    there = seen.exists()
    seen.touch()
    assert there

@pytest.mark.unit
def test_the_right_thing():
    assert {right}

@pytest.mark.e2e
def test_last():
    Path("last").touch()
"""


@pytest.mark.parametrize(("number", "right", "status"), [(5, True, 0), (6, True, 1), (1, False, 1)])
def test_what_fails_is_run_once_more_alone(number: int, right: bool, status: int, tmp_path: Path) -> None:
    """Few failures alone, and what fails again fails all; every tier is run in any case."""
    shutil.copy2(ROOT / "test.sh", tmp_path)
    (tmp_path / "trainer" / "setup").mkdir(parents=True)
    (tmp_path / "trainer" / "setup" / "setup.sh").write_text(SET_UP.format(sys.executable))
    (tmp_path / "trainer" / "settings.py").write_text("print('cpu')\n")
    (tmp_path / "pyproject.toml").write_text(MARKERS)
    (tmp_path / "test_it.py").write_text(TESTS.format(number=number, right=right))
    quick = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin", "NO_E2E_AFTER": "not again"}
    done = subprocess.run(
        ["./test.sh"],
        cwd=tmp_path,
        env=clean_environment(**quick),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    again = done.stdout.count("test.sh: the failures, once more and alone:")
    assert again == (number <= 5) + (not right)
    assert f"{number} failed" in done.stdout and (f"{number} passed" in done.stdout) == (number <= 5)
    assert (tmp_path / "last").exists()
