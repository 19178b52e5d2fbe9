#!/usr/bin/env bash
# Freezes the contract: copies its source to tests/fixtures/contract-1.0, and builds the library of 1.0
# that is kept beside it. To be run before version 1.0.0 is released, last with what will be its tag, and
# never again: later versions are compared with what it has left there.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml)
if [[ $version != 1.0.0-rc.* ]]; then
    echo "the version is $version: the contract of 1.0.0 is frozen for ever" >&2
    exit 1
fi

frozen=tests/fixtures/contract-1.0
rm -rf "$frozen/src"
cp -r host-interface/src "$frozen/src"
# The introduction is in another file, which is no part of the copy.
sed -i '/^#!\[doc = include_str!("..\/README.md")\]$/d' "$frozen/src/lib.rs"

# Where this machine keeps the project and its crates is of no interest in a file that is kept.
sources=("${CARGO_HOME:-$HOME/.cargo}"/registry/src/*)
export RUSTFLAGS="--remap-path-prefix=$PWD=project"
for source in "${sources[@]}"; do RUSTFLAGS+=" --remap-path-prefix=$source=crates"; done

# The folder is a workspace of its own, so this compiles little more than the contract.
CARGO_TARGET_DIR=target/contract-1.0 cargo build --release --example kept --manifest-path "$frozen/Cargo.toml"
gzip --best --no-name --stdout target/contract-1.0/release/examples/libkept.so > "$frozen/kept.so.gz"
rm -f "$frozen/Cargo.lock"
ls -l "$frozen/kept.so.gz"
