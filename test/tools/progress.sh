#!/usr/bin/env bash
# Runs a "go ... -v" command and prints its progress from time to time, because a first compilation takes minutes.
# Usage: progress.sh WHAT EXPECTATION COMMAND...
# The output of the command is printed only if it fails.
set -euo pipefail

what=$1 expectation=$2
shift 2
log=$(mktemp)
trap 'rm -f "$log"' EXIT

"$@" >"$log" 2>&1 &
job=$!
# A command in the background ignores Ctrl-C, so the script forwards it.
trap 'kill "$job"' INT TERM

spent() { printf '%dm%02ds' $((SECONDS / 60)) $((SECONDS % 60)); }

announced=false
next_line=20
while kill -0 "$job" 2>/dev/null; do
	sleep 0.2
	if ! $announced && ((SECONDS >= 2)); then
		echo "$what: compiling; $expectation"
		announced=true
	fi
	if ((SECONDS >= next_line)); then
		# The go command prints a line for each compiled package, and sentences about downloads. Before the first package
		# is compiled it prints nothing.
		at=$(tail -n 1 "$log")
		echo "$what: $(spent), $(grep -vc ' ' "$log" || true) packages so far, at ${at:-the first}"
		next_line=$((SECONDS + 20))
	fi
done

status=0
wait "$job" || status=$?
if ((status != 0)); then
	grep '[ :]' "$log" >&2 || true
	echo "$what: failed after $(spent)" >&2
elif $announced; then
	echo "$what: done in $(spent)"
fi
exit "$status"
