package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/test/program"
)

// firstSeed is the seed of the first component of a short run.
const firstSeed = 1

// The test makes a run in a separate process, because the operator must be started from the main thread of a process.
func TestAHostileTenantHarmsNobodyElse(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	g := NewWithT(t)
	const root = "../../.."
	bin := filepath.Join("bin", "hostile")
	g.Expect(program.Build(t.Context(), root, bin+"/", "./cmd/fairlead-operator", "./test/lab/hostile")).To(Succeed())
	run := exec.CommandContext(t.Context(), filepath.Join(bin, "hostile"), "-operator",
		filepath.Join(bin, "fairlead-operator"),
		"-duration", duration.String(), "-seed", fmt.Sprint(firstSeed))
	run.Dir = root
	// An interruption lets the process end its cluster.
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	run.WaitDelay = 30 * time.Second
	output, err := run.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(output))
	g.Expect(string(output)).To(ContainSubstring("time until Ready, worst"))
	t.Log(string(output))
}

func TestASeedAlwaysMakesTheSameAttack(t *testing.T) {
	g := NewWithT(t)
	s := scene{servers: "http://127.0.0.1:1", clusters: "https://127.0.0.1:1", token: "t"}
	seen := map[string]bool{}
	for seed := range uint64(500) {
		first, second := attackOf(seed, "", s), attackOf(seed, "", s)
		seen[first.kind] = true
		a, err := json.Marshal(append(first.objects, first.component()))
		g.Expect(err).NotTo(HaveOccurred())
		b, err := json.Marshal(append(second.objects, second.component()))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(a)).To(Equal(string(b)), "seed %d, %s", seed, first.kind)
	}
	for _, k := range kinds() {
		g.Expect(seen).To(HaveKey(k.name))
	}
}

func TestCrashesAreFoundInALog(t *testing.T) {
	g := NewWithT(t)
	log := filepath.Join(t.TempDir(), "log")
	g.Expect(os.WriteFile(log, []byte("{\"msg\":\"starting\"}\npanic: a\n{\"msg\":\"Observed a panic\"}\n"), 0o600)).
		To(Succeed())
	g.Expect(crashes(log)).To(ConsistOf("the operator logged: panic: a",
		`the operator logged: {"msg":"Observed a panic"}`))
}
