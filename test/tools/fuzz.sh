#!/usr/bin/env bash
# Runs each fuzz target for a time, one after the other, and prints the number of executions of each.
# Usage: fuzz.sh TIME [PATTERN]
# TIME is the time for each target, such as 30s. PATTERN is a regular expression of the names of the targets.
set -euo pipefail

time=$1 pattern=${2:-.}
export GOMEMLIMIT=${GOMEMLIMIT:-768MiB}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

failed=0
while IFS=: read -r file target; do
	package=./$(dirname "$file")
	status=ok
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 2s -parallel "${PARALLEL:-1}" "$package" >"$log" 2>&1 || status=FAILED
	# The last line with the number of executions, such as "fuzz: elapsed: 3s, execs: 325017 (108336/sec), ...".
	executions=$(sed -n 's/.*execs: \([0-9]*\).*/\1/p' "$log" | tail -n 1)
	printf '%s\t%s\t%s\t%s executions\n' "$status" "$package" "$target" "${executions:-no}"
	if [[ $status == FAILED ]]; then
		failed=1
		cat "$log"
	fi
done < <(grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z]*' -- api cmd internal pkg |
	sed -E 's/:[0-9]+:func /:/' | { grep -E ":($pattern)" || true; } | sort)
exit "$failed"
