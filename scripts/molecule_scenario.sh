#!/bin/sh
# Run one Molecule scenario: molecule_scenario.sh LABEL FOLDER_OF_COMMANDS SCENARIO. What it says goes to a file in tests/output; on failure its end is shown.
set -eu
label=$1
bin=$2
scenario=$3
log=tests/output/molecule-$scenario-$label.log
PATH="$bin:$PATH"
export PATH

echo "molecule $scenario on $label: begun"
began=$(date +%s)
# Two runs of one scenario would share their containers.
if ! flock "tests/output/molecule-$scenario.lock" molecule test -s "$scenario" > "$log" 2>&1; then
  tail -60 "$log" >&2
  echo "molecule $scenario on $label failed; whole log: $log" >&2
  exit 1
fi
echo "molecule $scenario on $label: $(($(date +%s) - began)) s, $(sed -n 's/.* \([0-9][0-9]* passed\).*/\1/p' "$log" | tail -1)"
