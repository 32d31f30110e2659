#!/usr/bin/env bash
# Run the tests: ./test.sh [pytest arguments]
#
#   ./test.sh                 everything, with real training runs on the CPU: the unit tests side by side, then the rest
#   ./test.sh -m unit -n 2    without programs that are started
#   ./test.sh -m "not e2e"    without the real runs
#
# Sets up .venv as train.sh does, plus the tools of config/requirements/dev.txt.
set -euo pipefail
[[ -z "${WHEELHOUSE:-}" || "$WHEELHOUSE" == /* ]] || export WHEELHOUSE=$PWD/$WHEELHOUSE
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=trainer/setup/setup.sh
source trainer/setup/setup.sh

main() {
  local python device status=0
  python=$(find_python)
  device=$(PYTHONPATH=. "$python" -m trainer.settings)
  make_environment "$device" "$python"
  install_tools "$device" "$python"
  # The tests start train.sh as a person would, and then with nothing to set up.
  if (($#)); then exec "$KIT_PYTHON" -m pytest "$@"; fi
  "$KIT_PYTHON" -m pytest -m unit -n auto --dist loadfile || status=$?
  "$KIT_PYTHON" -m pytest -m "not unit" || status=$?
  return "$status"
}

main "$@"
