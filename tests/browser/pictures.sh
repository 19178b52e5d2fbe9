#!/usr/bin/env bash
# Puts the pictures of the documents in place of those that are there, from the last run of the tests in
# a browser. A page gets one by a file of its name in example-host/pictures, which may be empty.
set -euo pipefail
cd "$(dirname "$0")/../.."

for picture in example-host/pictures/*.webp; do
    cp "target/browser/pictures/$(basename "$picture")" "$picture"
done
