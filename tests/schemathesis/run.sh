#!/usr/bin/env bash
# Sends requests that Schemathesis makes up from the OpenAPI document to a new demo store, and fails
# when an answer is not what the document promises. Options are handed on:
#
#     tests/schemathesis/run.sh --max-examples 500 --seed 7
#
# Needs Python 3; Schemathesis itself is installed below `target`.
set -euo pipefail
cd "$(dirname "$0")/../.."

# Pinned, so that a new check of it fails nothing before somebody has looked at it.
VERSION=4.32.5

tool=$PWD/target/schemathesis
if [[ ! -x $tool/bin/schemathesis ]] || [[ $("$tool/bin/schemathesis" --version) != *" $VERSION" ]]; then
    python3 -m venv "$tool"
    "$tool/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$VERSION"
fi

cargo build --locked
program=$PWD/target/debug/example-host
export SCHEMATHESIS_HOOKS=$PWD/tests/schemathesis/checks.py

folder=$(mktemp -d)
cd "$folder"
HOST_LISTEN=127.0.0.1:0 HOST_LOG=warn "$program" > host.out 2> host.log &
host=$!
cleanup() {
    kill "$host" 2> /dev/null && wait "$host" || true
    rm -rf "$folder"
}
trap cleanup EXIT

for _ in $(seq 120); do
    if grep -q '^API token' host.out; then break; fi
    sleep 0.5
done
address=$(sed -n 's/^Serving at //p' host.out)
token=$(sed -n 's/^API token *//p' host.out)
"$program" openapi > openapi.json

# Whoever makes up requests also disables the currency that the store counts in, and so on: a rule of
# the store refuses valid data then, which `checks.py` knows and the check that is left out does not.
"$tool/bin/schemathesis" run openapi.json \
    --url "$address/api/index.php/v1/shop" \
    --header "Authorization: Bearer $token" \
    --header "Accept: application/vnd.api+json" \
    --checks all --exclude-checks positive_data_acceptance \
    --continue-on-failure --generation-database none \
    --max-examples 20 --seed 1 "$@"

# What the host logs as an error is a finding too, whatever it answered.
if grep -q ' ERROR ' host.log; then
    cat host.log
    exit 1
fi
