#!/bin/sh
# What is built for machines that have nothing but the C runtime: it needs no other library and nothing of a glibc after
# 2.28, shows no symbols of those that are within, and records from a folder that it was copied to.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${TFPROF_PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "test_relocatable.sh: $*" >&2; exit 1; }

cmake -S "$root" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DTFPROF_STATIC_DEPENDENCIES=ON -DTFPROF_TESTS=OFF \
  >"$work/log" 2>&1 || { cat "$work/log"; fail "it cannot be configured"; }
# Most of it is compiled by the same commands as the build that is tested: those objects are taken from there.
"$python" "$root/tests/install/same_objects.py" "${TFPROF_BUILD:-$root/build}" "$work/build"
cmake --build "$work/build" -j2 --target tfprof-capture tfprof_capture_library tfprof_preload tfprof_capture_hooks \
  launch_cost tfprof_loadable tfprof-shell >"$work/log" 2>&1 || { tail -n 30 "$work/log"; fail "it cannot be built"; }
example=
if command -v nvcc >/dev/null; then
  example=overlap_copies
  cmake --build "$work/build" --target example_in_cuda >"$work/log" 2>&1 ||
    { cat "$work/log"; fail "$example cannot be built"; }
fi
built="tfprof-capture libtfprof_capture.so libtfprof_preload.so launch_cost tfprof.so tfprof"
for name in $built $example; do
  newer=$(objdump -T "$work/build/$name" | grep -E 'GLIBC_2\.(29|[3-9][0-9])|GLIBC_ABI' || true)
  [ -z "$newer" ] || fail "$name needs a glibc after 2.28 (tools/old_glibc/old_glibc.c): $newer"
done
for name in $built $example; do
  needed=$(objdump -p "$work/build/$name" | awk '$1 == "NEEDED" {print $2}')
  for library in $needed; do
    case $library in
      libc.so.6 | libm.so.6 | libpthread.so.0 | libdl.so.2 | librt.so.1 | libgcc_s.so.1 | ld-linux*) ;;
      *) fail "$name needs $library" ;;
    esac
  done
done
seen=$(nm -D --defined-only "$work/build/libtfprof_capture.so" |
  grep -e ' protobuf_' -e ' libdeflate_' -e ' inflate' || true)
[ -z "$seen" ] || fail "libtfprof_capture.so shows the program: $seen"

mkdir "$work/moved"
for name in tfprof-capture libtfprof_capture.so libtfprof_preload.so python; do
  mv "$work/build/$name" "$work/moved/"
done
"$python" -c 'import torch' 2>/dev/null || { echo "left out: recording, since PyTorch (torch) is missing"; exit 77; }
"$work/moved/tfprof-capture" -q -o "$work/run" -- "$python" -c 'import torch; torch.ones(3) + 1'
asked="SELECT count(*) FROM ops WHERE name = 'aten::add'"
count=$("${TFPROF_BUILD:-$root/build}/tfprof" --format csv "$work/run" "$asked" | tail -n 1)
[ "$count" = 1 ] || fail "aten::add was recorded $count times"
