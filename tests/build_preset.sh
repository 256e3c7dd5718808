#!/usr/bin/env bash
# build_preset.sh: configures and builds a preset (asan, tsan, fuzz), with what its tests need and no more.
#
#   build_preset.sh PRESET [-DNAME=VALUE]... [TARGET...]      without TARGETs those of the build preset
#
# A new build folder is Ninja's where there is one: make spends a tenth of the time of these builds on looking through
# its directories.
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
settings=() targets=()
for word in "$@"; do
  case $word in -D*) settings+=("$word") ;; *) targets+=("$word") ;; esac
done
if command -v ninja >/dev/null && [ ! -e "build-$preset/CMakeCache.txt" ]; then settings+=(-G Ninja); fi
cmake --preset "$preset" "${settings[@]}"
if [ ${#targets[@]} -eq 0 ]; then
  cmake --build --preset "$preset" -j "$(nproc)"
else
  cmake --build "build-$preset" -j "$(nproc)" --target "${targets[@]}"
fi
