# shellcheck shell=bash
# dependencies.sh: what tfprof needs from the system, named once.  Sourced by examples/quickstart.sh and tests/run.sh.
#
#   need_packages PURPOSE PACKAGE...   installs what is missing with apt-get (as root, or through sudo); where that
#                                      cannot be, names it and ends
#   need_python_environment [FRAMEWORK]
#                                      sets PYTHON to a Python with PyTorch (pytorch), TensorFlow and Keras
#                                      (tensorflow) or JAX (jax): the one in PATH when it has it, else one in .venv
#                                      made here
#   build_release [tests]              configures and builds into build/; with the programs of the tests
#
# Nothing is ever installed into the system's Python.

build_packages=(gcc libc6-dev make cmake pkg-config sqlite3 libsqlite3-dev zlib1g-dev libdeflate-dev libisal-dev
  libprotobuf-c-dev protobuf-c-compiler libreadline-dev libpcre2-dev libsnappy-dev
  libmicrohttpd-dev libcurl4-openssl-dev)
python_packages=(python3 python3-venv ca-certificates)
# python3-dev: torch.compile builds what includes Python.h; chromium shows the page of `tfprof report`.
# shellcheck disable=SC2034  # used by tests/run.sh
test_packages=(clang clang-tidy less libclang-rt-dev procps g++ libsimdjson-dev golang-go python3-dev
  libjemalloc2 chromium ninja-build mandoc groff-base)

# The exact release of PyTorch that captures are compared with.
pytorch_release=2.13.0

say() { printf '\n== %s\n' "$*"; }
fail() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# still LABEL COMMAND...: runs the command, and says each quarter of a minute that it goes on, of the build how far.
still() {
  local label=$1 status=0 seconds=0 percent
  shift
  "$@" &
  local job=$!
  trap 'kill "$job" 2>/dev/null; exit 130' INT TERM # what runs in the background does not hear of Ctrl-C
  while kill -0 "$job" 2>/dev/null; do
    sleep 1
    seconds=$((seconds + 1))
    [ $((seconds % 15)) -eq 0 ] || continue
    percent=
    if [ "$label" = building ]; then
      percent=$(grep -o '^\[ *[0-9]*%\]' build/build.log 2>/dev/null | tail -n 1)
    fi
    printf '   still %s after %d s %s\n' "$label" "$seconds" "$percent" >&2
  done
  wait "$job" || status=$?
  trap - INT TERM
  return "$status"
}

need_packages() {
  local purpose=$1 missing=() package
  shift
  for package in "$@"; do
    if command -v dpkg-query >/dev/null; then
      dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q '^install ok installed' || missing+=("$package")
    fi
  done
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    # Another system: only complain about what is really not there.
    local absent=() program
    for program in gcc cmake make sqlite3 protoc-c python3; do
      command -v "$program" >/dev/null || absent+=("$program")
    done
    [ ${#absent[@]} -eq 0 ] && return 0
    fail "this is not a Debian or Ubuntu system; please install what $purpose needs (Debian's names): $*"
  fi
  [ ${#missing[@]} -eq 0 ] && return 0
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
      as_root=(sudo)
    else
      fail "$purpose needs packages that are not installed; ask an administrator to run: apt-get install ${missing[*]}"
    fi
  fi
  say "Installing ${missing[*]}"
  still 'asking for packages' "${as_root[@]}" apt-get update -q >/dev/null ||
    fail "apt-get update failed; missing packages: ${missing[*]}"
  still installing "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}" >/dev/null ||
    fail "apt-get could not install: ${missing[*]}"
}

# Debian 12 has CMake 3.25; older systems get one from PyPI, into .venv.
need_cmake() {
  local found
  found=$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*\([0-9]*\.[0-9]*\).*/\1/p')
  if [ -n "$found" ] && [ "$(printf '%s\n3.25\n' "$found" | sort -V | head -n 1)" = 3.25 ]; then return 0; fi
  need_packages "building" "${python_packages[@]}"
  [ -x .venv/bin/python ] || python3 -m venv .venv
  .venv/bin/python -m pip install -q 'cmake>=3.25' || fail "CMake 3.25 or newer is needed, ${found:-none} was found"
  PATH=$PWD/.venv/bin:$PATH
}

build_logged() { cmake --build --preset "$1" -j "$(nproc)" -- --no-print-directory >build/build.log 2>&1; }

build_release() {
  need_packages "building" "${build_packages[@]}"
  need_cmake
  cmake --preset release >/dev/null
  still building build_logged "${1:-release}" ||
    { tail -n 40 build/build.log >&2; fail "the build failed; the whole log is build/build.log"; }
}

# Into .venv: the small CPU build where its own index can be reached, else what the configured index has.
install_pytorch() {
  .venv/bin/python -m pip install -q --retries 0 --timeout 10 --index-url https://download.pytorch.org/whl/cpu \
    "torch==$pytorch_release" numpy >/dev/null 2>&1 ||
    .venv/bin/python -m pip install -q "torch==$pytorch_release" numpy ||
    fail "PyTorch $pytorch_release could not be installed into .venv; see pip's message above"
}

# need_framework NAME MODULE PACKAGE...: the same of a framework that any release of will do.
need_framework() {
  local name=$1 module=$2 has='import importlib.util, sys; sys.exit(not importlib.util.find_spec(sys.argv[1]))'
  shift 2
  if python3 -c "$has" "$module" 2>/dev/null; then PYTHON=$(command -v python3); return 0; fi
  if ! .venv/bin/python -c "$has" "$module" 2>/dev/null; then
    need_packages "$name" "${python_packages[@]}"
    say "Installing $name into .venv; this takes a minute or two"
    [ -x .venv/bin/python ] || python3 -m venv .venv
    still "installing $name" .venv/bin/python -m pip install -q "$@" ||
      fail "$name could not be installed into .venv; see pip's message above"
  fi
  PYTHON=$PWD/.venv/bin/python
}

need_python_environment() {
  case ${1:-pytorch} in
    tensorflow) need_framework TensorFlow tensorflow tensorflow-cpu keras; return ;;
    jax) need_framework JAX jax jax; return ;;
  esac
  if python3 -c 'import torch' 2>/dev/null; then PYTHON=$(command -v python3); return 0; fi
  if ! .venv/bin/python -c 'import torch' 2>/dev/null; then
    need_packages "PyTorch" "${python_packages[@]}"
    say "Installing PyTorch $pytorch_release (CPU) into .venv; this takes a minute or two"
    [ -x .venv/bin/python ] || python3 -m venv .venv
    still 'installing PyTorch' install_pytorch
  fi
  PYTHON=$PWD/.venv/bin/python
}
