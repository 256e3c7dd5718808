#!/usr/bin/env bash
# test_install.sh: `cmake --install` into a folder of its own: every part is there, finds the others, and works from
# there.
set -eu
build=$(realpath "${TFPROF_BUILD:-build}")
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install "$build" --prefix "$prefix" >/dev/null

fail() {
  printf 'test_install.sh: %s\n' "$*"
  (cd "$prefix" && find . -type f | sort)
  exit 1
}
for file in bin/tfprof bin/tfprof-capture; do
  [ -x "$prefix/$file" ] || fail "$file is missing"
done
extension=$(find "$prefix" -name tfprof.so)
library=$(find "$prefix" -name libtfprof_capture.so)
[ -n "$extension" ] || fail "tfprof.so is missing"
case $library in */tfprof/libtfprof_capture.so) ;; *) fail "libtfprof_capture.so is not in lib/tfprof" ;; esac
# Nothing of the libraries linked into it may be seen by the program that is recorded; the functions of PyTorch that it
# stands in for are.
if command -v nm >/dev/null; then
  seen=$(nm -D --defined-only "$library" | awk '{print $NF}' | grep -v -e '^tfprof_capture_' -e '^_ZN3c10' \
    -e '^_ZN2at24set_record_function_tls_' -e '^_ZN5torch8autograd6Engine7execute' -e '^InitializeInjection' || true)
  [ -z "$seen" ] || fail "libtfprof_capture.so shows the program: $seen"
fi
[ -f "$(dirname "$library")/python/sitecustomize.py" ] || fail "the Python hooks are missing"
[ -f "$(dirname "$library")/python/tfprof.py" ] || fail "the module tfprof is missing"
[ -f "$(dirname "$library")/libtfprof_preload.so" ] || fail "libtfprof_preload.so is missing"
for page in tfprof tfprof-capture; do
  [ -f "$prefix/share/man/man1/$page.1" ] || fail "the manual of $page is missing"
done
[ -f "$prefix/share/tfprof/sql/views/ops/op_summary.sql" ] || fail "share/tfprof/sql is missing"

[ -n "$(find "$prefix" -name LICENSE)" ] && [ -n "$(find "$prefix" -name NOTICE)" ] ||
  fail "LICENSE or NOTICE is missing"

# sqlite3 finds the extension by its name when its folder is on the loader's path.
version=$(LD_LIBRARY_PATH=$(dirname "$extension") sqlite3 -cmd '.load tfprof' :memory: 'SELECT tfprof_version()')
[ -n "$version" ] || fail "sqlite3 does not load tfprof"
[ "$("$prefix/bin/tfprof" --version)" = "tfprof $version" ] || fail "tfprof and tfprof.so are of different versions"
[ "$("$prefix/bin/tfprof" --format csv 'SELECT count(*) > 10 AS x FROM tfprof_views')" = "$(printf 'x\n1')" ] ||
  fail "tfprof has no views"

# tfprof-capture finds its library and hooks; the summary names what to load by its short name.
cd "$prefix"
# shellcheck disable=SC2016  # the program expands them
bin/tfprof-capture -o run -- sh -c 'echo "$TFPROF_LIBRARY"; echo "$PYTHONPATH"' >out 2>/dev/null
[ "$(sed -n 1p out)" = "$(realpath "$library")" ] || fail "TFPROF_LIBRARY is $(sed -n 1p out)"
case $(sed -n 2p out) in
  "$(realpath "$(dirname "$library")")/python"*) ;;
  *) fail "PYTHONPATH is $(sed -n 2p out)" ;;
esac

# An installation that lacks a part says which.
rm "$library"
status=0
bin/tfprof-capture -o run2 -- true 2>out || status=$?
[ $status = 125 ] || fail "the exit status without the library is $status"
grep -q 'libtfprof_capture.so' out || fail "the message does not name the library: $(cat out)"
[ ! -e run2 ] || fail "a run directory was left behind"

if "${TFPROF_PYTHON:-python3}" -c 'import torch' 2>/dev/null; then
  cmake --install "$build" --prefix "$prefix" >/dev/null
  bin/tfprof-capture --quiet -o run3 -- "${TFPROF_PYTHON:-python3}" -c 'import torch; torch.ones(3) + 1'
  [ "$(bin/tfprof --format csv run3 "SELECT count(*) AS n FROM ops WHERE name = 'aten::add'")" = "$(printf 'n\n1')" ] ||
    fail "the installed parts recorded nothing"
else
  echo "left out: recording with the installed parts, since PyTorch (torch) is missing"
  exit 77
fi
echo "installed parts work"

# What was installed goes again, and nothing else.
cmake --install "$build" --prefix "$prefix" >/dev/null
touch "$prefix/bin/of-another" "$(dirname "$extension")/tfprof/of-another"
cmake --build "$build" --target uninstall >/dev/null
left=$(cd "$prefix" && find bin lib* share -type f 2>/dev/null | grep -v '/of-another$' || true)
[ -z "$left" ] || fail "uninstall leaves $left"
[ -f "$prefix/bin/of-another" ] && [ ! -e "$prefix/share/tfprof" ] || fail "uninstall took too much, or left folders"
