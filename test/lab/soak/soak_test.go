package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/test/program"
)

// The test makes a short run in a separate process, because the operator must be started from the main thread of a
// process.
func TestSoakFindsNothingWrong(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	g := NewWithT(t)
	const root = "../../.."
	bin := filepath.Join("bin", "soak")
	g.Expect(program.Build(t.Context(), root, bin+"/", "./cmd/fairlead-operator", "./test/lab/soak")).To(Succeed())
	soak := exec.CommandContext(t.Context(), filepath.Join(bin, "soak"), "-operator",
		filepath.Join(bin, "fairlead-operator"), "-duration", "20s")
	soak.Dir = root
	// An interruption lets the process end its cluster.
	soak.Cancel = func() error { return soak.Process.Signal(os.Interrupt) }
	soak.WaitDelay = 30 * time.Second
	output, err := soak.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(output))
	g.Expect(string(output)).To(ContainSubstring("all in the wanted state"))
}

func TestStacksOfCountsGoroutinesByWhereTheyAre(t *testing.T) {
	const profile = `goroutine profile: total 5
3 @ 0x1 0x2 0x3
#	0x1	net.(*conn).Read+0x25	/go/net/net.go:1
#	0x2	main.loop+0x1	/main.go:2

2 @ 0x4
#	0x4	main.other+0x12	/main.go:3
`
	NewWithT(t).Expect(stacksOf(profile)).To(Equal(counts{"net.(*conn).Read < main.loop": 3, "main.other": 2}))
}

func TestHoldingsExceedThoseBeforeByWhatDoesNotGoAway(t *testing.T) {
	before := holdings{
		goroutines: 100, stacks: counts{"a": 100}, heap: 8 * mebibyte,
		watches: counts{"/api/v1/secrets": 1},
	}
	for name, test := range map[string]struct {
		later holdings
		want  []string
	}{
		"the same": {later: before},
		"a little more": {
			later: holdings{
				goroutines: 105, stacks: counts{"a": 105}, heap: 9 * mebibyte,
				watches: counts{"/api/v1/secrets": 1},
			},
		},
		"goroutines": {
			later: holdings{goroutines: 150, stacks: counts{"a": 90, "b": 60}, heap: 8 * mebibyte},
			want:  []string{"there are 150 goroutines, and there were 100 before; these have increased:\n    b: 60, before 0"},
		},
		"heap": {
			later: holdings{goroutines: 100, heap: 20 * mebibyte},
			want:  []string{"the live heap has 20.0 MiB, and had 8.0 MiB before"},
		},
		"watches": {
			later: holdings{goroutines: 100, watches: counts{"/api/v1/secrets": 2, "/api/v1/pods": 1}},
			want: []string{
				"an additional watch: /api/v1/pods: 1, before 0",
				"an additional watch: /api/v1/secrets: 2, before 1",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(before.exceededBy(test.later)).To(Equal(test.want))
		})
	}
}
