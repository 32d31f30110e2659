# shellcheck shell=bash
# A machine with no package index: set-up from a folder of wheels (WHEELHOUSE), and making that folder where there is
# an index. Part of setup.sh.

readonly WHEELS=outputs/cache/wheelhouse # what set-up installs, while it does

# Set $pip_python: the same Python as "$1", with pip, in an environment of its own: .venv is not there, or is kept.
python_with_pip() {
  pip_python=$PWD/outputs/cache/pip/bin/python
  [[ "$("$pip_python" -V 2>/dev/null)" == "$("$1" -V)" ]] && "$pip_python" -m pip --version >/dev/null 2>&1 && return
  mkdir -p outputs/cache
  : >"$SETUP_LOG"
  make_venv "$1" outputs/cache/pip
}

# ./train.sh wheelhouse: "$1" is the interpreter, "$2" the folder to work from, the rest what was typed.
make_wheelhouse() {
  python_with_pip "$1"
  cd "$2" || exit
  exec "$pip_python" -m trainer.setup.wheelhouse make --uv "$UV_VERSION" "${@:3}"
}

# Check that WHEELHOUSE has all of lock "$3" (stack, tools) for device "$1" and interpreter "$2"; lay it out in $WHEELS.
open_wheelhouse() {
  python_with_pip "$2"
  printf 'checking %s\n' "$WHEELHOUSE" >&2
  PYTHONPATH=$PWD "$pip_python" -m trainer.setup.wheelhouse open "$WHEELHOUSE" --device "$1" --base "$2" --uv "$UV_VERSION" \
    --lock "$3" --into "$WHEELS" || exit $?
}

# uv, with no index and no settings but these.
uv_offline() {
  UV_NO_CONFIG=1 UV_OFFLINE=1 .venv/bin/uv pip install --python .venv/bin/python --no-deps --no-index "$@"
}

# Fill .venv from the wheels of open_wheelhouse.
install_wheels() {
  local site
  shown "uv $UV_VERSION" .venv/bin/python -m pip --isolated install --quiet --no-index --find-links "$WHEELS" "uv==$UV_VERSION" \
    || die "uv==$UV_VERSION cannot be installed from $WHEELHOUSE: $(tail -n 1 "$SETUP_LOG") (log: $SETUP_LOG)"
  shown "packages of $WHEELHOUSE" uv_offline --compile-bytecode --find-links "$WHEELS" --require-hashes -r "$WHEELS/requirements.txt" \
    || die "$WHEELHOUSE cannot be installed: $(setup_cause) (log: $SETUP_LOG)"
  if [[ -f "$WHEELS/machine.pth" ]]; then
    site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    cp "$WHEELS/machine.pth" "$site/kit-machine.pth" # what .venv lacks is looked for where the interpreter does
  fi
  install_extras "$WHEELS/extras.txt"
  rm -rf "$WHEELS"
}

# The wheels that somebody added to WHEELHOUSE: file "$1" has their paths.
install_extras() {
  local -a wheels=()
  mapfile -t wheels <"$1"
  if ((${#wheels[@]})); then
    shown "wheels added to $WHEELHOUSE" uv_offline "${wheels[@]}" \
      || die "a wheel that was added to $WHEELHOUSE cannot be installed: $(setup_cause) (log: $SETUP_LOG)"
  fi
  extras_identity "$1" >.venv/kit-extras
}

extras_identity() {
  local path
  while read -r path; do stat -c '%n %s %Y' "$path"; done <"$1" | sha256sum
}

# Wheels that were added after .venv was made.
update_extras() {
  local list=outputs/cache/extras.txt
  mkdir -p outputs/cache
  PYTHONPATH=$PWD .venv/bin/python -m trainer.setup.wheelhouse extras "$WHEELHOUSE" >"$list" || exit $?
  if [[ "$(extras_identity "$list")" != "$(cat .venv/kit-extras 2>/dev/null)" ]]; then install_extras "$list"; fi
  rm -f "$list"
}
