# shellcheck shell=sh
# Install vllm-router in a virtual environment of its own. Arguments: interpreter, folder, requirement with its digests.
set -eu
umask 022
python=$1 folder=$2 requirement=$3
rm -rf "$folder"
"$python" -m venv "$folder"
echo "$requirement" > "$folder/requirements.txt"
# Its other requirements are for a part that is not used.
"$folder/bin/python" -m pip install --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r "$folder/requirements.txt"
touch "$folder/complete"
