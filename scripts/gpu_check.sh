#!/usr/bin/env bash
# Everything that needs a GPU, in one call: scripts/gpu_check.sh [step ...]
#
#   install   build the package and install it for $PYTHON
#   doctor    what the package finds on this machine
#   smoke     scripts/gpu_smoke.py
#   tests     the GPU tests
#   copy launch jit     the benchmarks
#   gemm      the GPU tests of GEMMs alone
#   gemm-bench gemm-ladder    benchmarks/gemm.py, benchmarks/gemm_ladder.py
#   memcheck racecheck initcheck synccheck     GPU tests under compute-sanitizer, and a planted bug for each tool
#   sanitize  those four
#
# Without arguments: install doctor smoke tests copy launch jit gemm-bench. Every step's log and all result files go to $OUT, a
# table of the steps comes last. The exit status is the number of steps that failed.
#
#   PYTHON   interpreter (python3)                  BENCH_FLAGS      options of the benchmarks, e.g. --quick
#   OUT      folder for logs (gpu-check)            STEP_TIMEOUT     seconds a step may take (540)
#   PYTEST_FLAGS      options of pytest in step tests, e.g. -x
#   SANITIZED_TESTS   what pytest runs under the sanitizer (-m sanitized tests/gpu)
#   SANITIZER_FLAGS   further options of compute-sanitizer
#
# Planted bugs: tests/gpu/planted.py, called with a tool's name, must run a kernel with a bug that this tool reports;
# with "gemm" behind it, a GEMM.
set -u
cd "$(dirname "$0")/.." || exit 1
PYTHON=${PYTHON:-python3}
OUT=${OUT:-gpu-check}
STEP_TIMEOUT=${STEP_TIMEOUT:-540}
PLANTED=tests/gpu/planted.py
FOUND=42 # exit status of compute-sanitizer where it found errors
mkdir -p "$OUT"
OUT=$(cd "$OUT" && pwd)
read -ra bench_flags <<<"${BENCH_FLAGS:-}"
read -ra pytest_flags <<<"${PYTEST_FLAGS:-}"
read -ra sanitizer_flags <<<"${SANITIZER_FLAGS:-}"
read -ra sanitized_tests <<<"${SANITIZED_TESTS:--m sanitized tests/gpu}"

pytest() { "$PYTHON" -m pytest -p no:cacheprovider -q -m gpu "$@"; }

# Without torch's caching allocator each tensor is an allocation of its own, whose ends the tools know. The sanitizer's
# own exit status says what it found; a failing test has another one. Calls of the driver that return an error are no
# finding: the tests provoke some.
sanitizer() {
  local tool=$1 flags=(--tool "$1" --error-exitcode "$FOUND" --print-limit 20)
  shift
  [[ $tool == memcheck ]] && flags+=(--report-api-errors no)
  # Only the project's own kernels, which is quick; but who writes a tensor first is any library's kernel.
  [[ $tool != initcheck ]] && flags+=(--kernel-name kns=tilewright)
  TILEWRIGHT_SANITIZED=$tool PYTORCH_NO_CUDA_MEMORY_CACHING=1 ${limit:+timeout -k 10 "$limit"} compute-sanitizer "${flags[@]}" "${sanitizer_flags[@]}" "$@"
}

sanitize() {
  local tool=$1 status kernel
  if [[ -f $PLANTED ]]; then
    for kernel in "" gemm; do
      [[ $tool$kernel == synccheckgemm ]] && continue # no GEMM could end
      # shellcheck disable=SC2086 # no word where there is none
      limit=100 sanitizer "$tool" "$PYTHON" "$PLANTED" "$tool" $kernel # a barrier not all threads reach may never end
      status=$?
      if ((status != FOUND)); then
        echo "$tool did not report the bug planted for it${kernel:+ in a $kernel} (exit status $status):" \
          "a clean run would mean nothing"
        return 1
      fi
    done
    echo "== $tool reported the planted bugs, as it should; now the tests"
  else
    echo "== there is no $PLANTED: nothing shows that $tool would find a bug"
  fi
  sanitizer "$tool" "$PYTHON" -m pytest -p no:cacheprovider -q "${sanitized_tests[@]}"
}

step() {
  case $1 in
    install) "$PYTHON" -m pip install --no-build-isolation --no-deps --disable-pip-version-check . ;;
    doctor) "$PYTHON" -m tilewright doctor ;;
    smoke) "$PYTHON" scripts/gpu_smoke.py ;;
    tests) pytest "${pytest_flags[@]}" tests/gpu ;;
    gemm) pytest "${pytest_flags[@]}" tests/gpu/test_gemm*_gpu.py tests/gpu/test_tensor_map_gpu.py ;;
    copy) "$PYTHON" benchmarks/tiled_copy.py --out "$OUT/results" "${bench_flags[@]}" ;;
    gemm-bench) "$PYTHON" benchmarks/gemm.py --out "$OUT/results" "${bench_flags[@]}" ;;
    gemm-ladder) "$PYTHON" benchmarks/gemm_ladder.py --out "$OUT/results" "${bench_flags[@]}" ;;
    launch | jit) "$PYTHON" "benchmarks/$1.py" --out "$OUT/results" "${bench_flags[@]}" ;;
    memcheck | racecheck | initcheck | synccheck) sanitize "$1" ;;
    *)
      echo "unknown step $1; see the head of scripts/gpu_check.sh"
      return 1
      ;;
  esac
}

# A step in a shell of its own, so that the time limit covers functions too.
if [[ ${1:-} == --step ]]; then
  step "$2"
  exit
fi

steps=()
for name in "${@:-install}"; do
  if [[ $name == sanitize ]]; then steps+=(memcheck racecheck initcheck synccheck); else steps+=("$name"); fi
done
(($# == 0)) && steps=(install doctor smoke tests copy launch jit gemm-bench)

failed=0
table=()
for name in "${steps[@]}"; do
  begin=$(date +%s)
  OUT=$OUT timeout "$STEP_TIMEOUT" bash scripts/gpu_check.sh --step "$name" >"$OUT/$name.log" 2>&1
  status=$?
  verdict=ok
  if ((status != 0)); then
    failed=$((failed + 1))
    verdict="FAILED ($status)"
    ((status == 124)) && verdict="FAILED (over $STEP_TIMEOUT s)"
    echo "== $name failed; the end of $OUT/$name.log:"
    tail -n 40 "$OUT/$name.log"
  fi
  table+=("$(printf '%-10s %4d s  %s' "$name" $(($(date +%s) - begin)) "$verdict")")
done
for name in copy launch jit gemm-bench; do
  [[ " ${steps[*]} " == *" $name "* && -f $OUT/$name.log ]] && cat "$OUT/$name.log"
done
printf '%s\n' "${table[@]}" | tee "$OUT/steps.txt"
exit "$failed"
