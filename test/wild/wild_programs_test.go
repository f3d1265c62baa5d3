//go:build programs

package main

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// The test uses the charts in testdata: a Deployment with the time of its rendering; hooks with several events and a
// random Secret; a definition with its instances; a StatefulSet with a claim, a load balancer and an Ingress.
func TestChartsAreEqual(t *testing.T) {
	if testing.Short() {
		t.Skip("needs clusters")
	}
	runtime.LockOSThread() // The operator ends with the thread that started it.
	bin := t.TempDir()
	t.Chdir("../..")
	if output, err := exec.Command("go", "build", "-o", bin+"/", "./cmd/...").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if output, err := exec.Command("cp", "bin/helm", bin).CombinedOutput(); err != nil {
		t.Fatalf("run make bin/helm: %s", output)
	}
	folders, err := filepath.Glob("test/wild/testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	var charts []chart
	for _, folder := range folders {
		c, err := readChart(folder, "test/wild/charts")
		if err != nil {
			t.Fatal(err)
		}
		charts = append(charts, c)
	}
	c := config{bin: bin, results: t.TempDir(), timeout: 90 * time.Second, again: againNone}
	for run := range 2 {
		began := time.Now()
		results, err := tryAll(t.Context(), c, charts)
		if err != nil {
			t.Fatal(err)
		}
		if code := report(t.Output(), results); code != 0 {
			t.Errorf("run %d: want the exit code 0, got %d", run, code)
		}
		for _, r := range results {
			if r.verdict() != "equal" || len(r.Helm) != len(allSteps) || len(r.Fairlead) != len(allSteps) {
				t.Errorf("run %d: %s: %s, want equal after %d steps", run, r.Chart, r.verdict(), len(allSteps))
			}
		}
		if took := time.Since(began); run == 1 && took > time.Second {
			t.Errorf("the second run must only read the results, and took %s", took)
		}
	}
}
