#!/usr/bin/env bash
# Weaves mutants of the sources below into one program, and judges each of them with the tests that reach it. Takes
# hours, and goes on where it was interrupted. Needs Python 3; what else is missing is installed below `target`.
#
#     tests/mutants/run.sh
#
# The sources are those of the last commit. The last lines are the mutants that no test notices, and their numbers.
set -euo pipefail
cd "$(dirname "$0")/../.."

VERSION=27.1.0
SOURCES=(plugin/src/service/write.rs 'plugin/src/wire/**' 'plugin/src/model/**' 'example-host/src/identity/**')

tests=$PWD/tests/mutants
folder=$PWD/target/mutants
if [[ ! -x $folder/tools/bin/cargo-mutants ]]; then
    cargo install cargo-mutants --version "$VERSION" --locked --debug --root "$folder/tools"
fi
if [[ ! -x $folder/python/bin/python ]]; then
    python3 -m venv "$folder/python"
    "$folder/python/bin/pip" install --quiet --disable-pip-version-check tree-sitter==0.26.1 tree-sitter-rust==0.24.2
fi
python=$folder/python/bin/python

woven=$folder/woven
if [[ ! -e $woven/programs.json ]]; then
    rm -rf "$woven"
    git clone --quiet . "$woven"
    cd "$woven"
    "$folder/tools/bin/cargo-mutants" mutants --list --json --workspace "${SOURCES[@]/#/--file=}" > mutants.json
    # Arithmetic on constants that overflows, and conditions that never hold, are what mutants are about.
    export RUSTFLAGS="--cap-lints=warn" CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=none
    "$python" "$tests/weave.py" . mutants.json
    # Some errors show only when others are gone.
    until cargo check --quiet --workspace --keep-going --message-format=json > check.json 2> check.log; do
        found=$("$python" "$tests/weave.py" . mutants.json --without < check.json)
        echo "$found"
        if [[ $found == 0\ more* ]]; then exit 1; fi
    done
    cargo test --workspace --no-run --message-format=json > programs.json.new
    mv programs.json.new programs.json
fi
cd "$woven"
"$python" "$tests/judge.py" . reach
"$python" "$tests/judge.py" .
