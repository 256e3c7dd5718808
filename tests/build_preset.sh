#!/usr/bin/env bash
# build_preset.sh: configures and builds a preset (asan, tsan), with what its tests need and no more.
set -eu
cd "$(dirname "$0")/.."
cmake --preset "$1"
cmake --build --preset "$1" -j "$(nproc)"
