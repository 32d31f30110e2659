#!/usr/bin/env bash
# The same line on several machines, by ssh, from the kit's folder on a file system that they share:
#   N_GPUS=8 config/cluster/ssh.sh "node0 node1" --model Qwen/Qwen2.5-7B --data train.jsonl
# The first machine leads; its exit status is this script's. Ctrl-C ends the run on all of them.
set -euo pipefail

read -r -a machines <<<"$1"
shift
flags=''
(($# == 0)) || flags=$(printf ' %q' "$@")
given=$(printf 'NNODES=%q MASTER_ADDR=%q' "${#machines[@]}" "${machines[0]}")
for env in N_GPUS MASTER_PORT JOIN_TIMEOUT RAY_AUTH_TOKEN_PATH; do
  [[ -z "${!env:-}" ]] || given+=" $(printf '%s=%q' "$env" "${!env}")"
done
sessions=()
for rank in "${!machines[@]}"; do
  # -tt: when this ends, so does what it has started there
  ssh -tt -o BatchMode=yes "${machines[rank]}" \
    "cd $(printf %q "$PWD") && $given NODE_RANK=$rank ./train.sh$flags" </dev/null > >(sed "s/^/[$rank] /") 2>&1 &
  sessions+=($!)
done
trap 'kill "${sessions[@]}" 2>/dev/null; wait' INT TERM
wait "${sessions[0]}"
