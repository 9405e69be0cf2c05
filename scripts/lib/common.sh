# What the shell scripts of scripts/ share: the checkout's root and one line per step with its time.
# Sourced, never run; it must not change anything.
set -euo pipefail
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
cd "$ROOT"

# step TITLE COMMAND...: says what runs, then how long it took; the command's output goes to a log
# that is shown (its last 60 lines) only when the command fails; of ninja's `[n/m]` every tenth is
# shown as it comes. VERBOSE=1 shows everything.
step() {
  local title="$1" start=$SECONDS log status=0
  shift
  mkdir -p "$ROOT/build/logs"
  log="$ROOT/build/logs/$(tr -cs 'a-zA-Z0-9' '-' <<<"$title" | sed 's/-$//').log"
  printf '%-44s' "$title"
  if [ -n "${VERBOSE:-}" ]; then
    printf '\n'
    "$@" 2>&1 | tee "$log" || status=$?
  else
    "$@" 2>&1 | awk -v log_file="$log" '
      BEGIN { printf "" >log_file }
      { print >log_file; fflush(log_file) }
      match($0, /^\[[0-9]+\/[0-9]+\]/) {
        split(substr($0, 2, RLENGTH - 2), at, "/")
        if (at[2] >= 20 && int(10 * at[1] / at[2]) > shown) { shown = int(10 * at[1] / at[2]); printf "%d%% ", 10 * shown; fflush() }
      }' || status=$?
  fi
  if [ "$status" -eq 0 ]; then
    printf 'ok   %4d s\n' $((SECONDS - start))
  else
    printf 'FAILED after %d s; the end of %s:\n' $((SECONDS - start)) "${log#"$ROOT"/}"
    tail -n 60 "$log"
  fi
  return "$status"
}
