package main

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/pkg/generator/isolate"
)

func TestTheMemoryOfThePodIsDivided(t *testing.T) {
	const mib = 1 << 20
	isolated := renderingOptions{isolated: true}
	for _, c := range []struct {
		name       string
		options    renderingOptions
		limit      int64
		processors int
		processes  int
		memory     int64
		own        int64
	}{
		{"without a limit", isolated, 0, 8, 4, 512 * mib, math.MaxInt64},
		{"the limit of the chart", isolated, 2048 * mib, 8, 2, 512 * mib, 1024 * mib / 10 * 9},
		{"one processor", isolated, 2048 * mib, 1, 2, 512 * mib, 1024 * mib / 10 * 9},
		{"one processor without a limit", isolated, 0, 1, 2, 512 * mib, math.MaxInt64},
		{"the smallest pod with two processes", isolated, 512 * mib, 1, 2, 128 * mib, 256 * mib / 10 * 9},
		{"a small pod", isolated, 1024 * mib, 8, 2, 256 * mib, 512 * mib / 10 * 9},
		{"a tiny pod", isolated, 256 * mib, 8, 1, 128 * mib, 128 * mib / 10 * 9},
		{"a large pod", isolated, 16384 * mib, 64, 4, 512 * mib, 14336 * mib / 10 * 9},
		{
			"a flag for the processes",
			renderingOptions{isolated: true, processes: 4},
			2048 * mib, 8, 4, 256 * mib,
			1024 * mib / 10 * 9,
		},
		{
			"a flag for one process",
			renderingOptions{isolated: true, processes: 1},
			1024 * mib, 8, 1, 256 * mib,
			768 * mib / 10 * 9,
		},
		{
			"a flag for the memory",
			renderingOptions{isolated: true, memory: 512 * mib},
			1024 * mib, 8, 1, 512 * mib,
			512 * mib / 10 * 9,
		},
		{"flags", renderingOptions{true, 3, 256 * mib, 0}, 1024 * mib, 8, 3, 256 * mib, 256 * mib / 10 * 9},
		{"flags that exceed the pod", renderingOptions{true, 4, 512 * mib, 0}, 1024 * mib, 8, 4, 512 * mib, math.MaxInt64},
		{"in this process", renderingOptions{}, 1024 * mib, 8, 0, 0, 1024 * mib / 10 * 9},
	} {
		isolation, own := c.options.shares(c.limit, c.processors)
		if isolation == nil {
			isolation = &isolate.Options{}
		}
		if isolation.Processes != c.processes || isolation.Memory != c.memory || own != c.own {
			t.Errorf("%s: %d processes of %d bytes, own limit %d", c.name, isolation.Processes, isolation.Memory, own)
		}
	}
}

func TestTheBudgetFollowsTheMemoryLimit(t *testing.T) {
	for _, c := range []struct{ flag, own, want int64 }{
		{0, math.MaxInt64, 0}, {0, 1000, 500}, {700, 1000, 700}, {700, math.MaxInt64, 700},
	} {
		if got := (renderingOptions{budget: c.flag}).budgetOf(c.own); got != c.want {
			t.Errorf("flag %d, limit %d: got %d", c.flag, c.own, got)
		}
	}
}

func TestTheMemoryLimitIsThatOfTheControlGroup(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for content, want := range map[string]int64{
		"max\n": 0, "1073741824\n": 1 << 30, "9223372036854771712\n": 0, "": 0,
	} {
		file := filepath.Join(t.TempDir(), "memory.max")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := memoryLimit([]string{missing, file}); got != want {
			t.Errorf("%q: %d, want %d", content, got, want)
		}
	}
}
