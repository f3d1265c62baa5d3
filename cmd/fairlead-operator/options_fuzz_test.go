package main

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
)

// The arguments are separated by line breaks.
func FuzzOptions(f *testing.F) {
	for _, seed := range []string{
		"--leader-elect\n--max-concurrent-reconciles=8", "--observe=namespaces\n--observe-namespaces=a,b",
		"--rendering-memory-bytes=-1", "--tracing-sampling-ratio=NaN\n--tracing-endpoint=http://a", "--zap-log-level=9\n--",
		"--own-deployment=a/b\n--fetch-timeout=1h", "--events-address=http://a:b@c:0/#d", "-h", "--kubeconfig\n", "a",
	} {
		f.Add(seed)
	}
	fuzzing.Run(f, func(t *testing.T, arguments string) {
		_, err := parseOptions(strings.Split(arguments, "\n"))
		if err != nil && strings.Contains(err.Error(), "; ;") {
			t.Errorf("an error has no text: %v", err)
		}
	})
}
