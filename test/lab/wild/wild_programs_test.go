//go:build programs

package main

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// The tests use the charts in testdata: a Deployment with the time of its rendering; hooks with several events and a
// random Secret; a definition with its instances; a StatefulSet with a claim, a load balancer and an Ingress.
func TestChartsAreEqual(t *testing.T) {
	c, charts := prepareCharts(t)
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

// The charts migrate from Helm to Fairlead and back to Helm, and all their objects, pods and claims keep their UIDs.
// The pre-delete hook of the chart hooks must not run on the way back.
func TestChartsMigrate(t *testing.T) {
	c, charts := prepareCharts(t)
	results, err := migrateAll(t.Context(), c, charts)
	if err != nil {
		t.Fatal(err)
	}
	if code := reportMigrations(t.Output(), results); code != 0 {
		t.Errorf("want the exit code 0, got %d", code)
	}
	for _, m := range results {
		if m.Unusable != "" || m.Installed.Objects == 0 || m.There != m.Installed || m.Back != m.Installed {
			t.Errorf("%s: installed %s, kept there %s, kept back %s %s", m.Chart, m.Installed, m.There, m.Back, m.Unusable)
		}
		if m.Chart == "claims" && (m.Installed.Pods != 2 || m.Installed.Claims != 2) {
			t.Errorf("want 2 pods and 2 claims, got %s", m.Installed)
		}
	}
}

// prepareCharts builds the programs, and reads the charts in testdata.
func prepareCharts(t *testing.T) (config, []chart) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs clusters")
	}
	runtime.LockOSThread() // The operator ends with the thread that started it.
	bin := t.TempDir()
	t.Chdir("../../..")
	if output, err := exec.Command("go", "build", "-o", bin+"/", "./cmd/...").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if output, err := exec.Command("cp", "bin/helm", "bin/kubectl", bin).CombinedOutput(); err != nil {
		t.Fatalf("run make bin/helm bin/kubectl: %s", output)
	}
	folders, err := filepath.Glob("test/lab/wild/testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	var charts []chart
	for _, folder := range folders {
		c, err := readChart(folder, "test/lab/wild/charts")
		if err != nil {
			t.Fatal(err)
		}
		charts = append(charts, c)
	}
	return config{bin: bin, results: t.TempDir(), timeout: 90 * time.Second, again: againNone}, charts
}
