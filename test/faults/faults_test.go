package faults_test

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// The flags: go test ./test/faults -seeds 1 -seed 123 repeats the run with seed 123.
var (
	seedCount = flag.Int("seeds", defaultSeeds, "how many seeds to play")
	firstSeed = flag.Uint64("seed", 1, "the first of them")
	parallel  = flag.Int("at-once", 6, "how many are played at a time")
)

// killEvery is which seeds run the operator as a process of its own, which is killed where others crash: every tenth.
const killEvery = 10

func TestMain(m *testing.M) {
	if os.Getenv(runAsOperator) != "" {
		os.Exit(operatorMain())
	}
	os.Exit(m.Run())
}

func TestFaults(t *testing.T) {
	log.SetLogger(logr.Discard())
	cluster := testcluster.StartFor(t, testcluster.Options{Nodes: 1})
	scheme, err := gadget.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(cluster.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	install(t.Context(), t, admin)
	scenario := componenttest.Scenario[*gadget.Gadget]{
		Config: cluster.Config(), Scheme: scheme, Reconciler: reconciler,
		Operator: operate, Component: newGadget, Steps: steps, Parallel: *parallel,
	}
	var killed []uint64
	for seed := *firstSeed; seed < *firstSeed+uint64(*seedCount); seed++ {
		if seed%killEvery == 0 {
			killed = append(killed, seed)
		} else {
			scenario.Seeds = append(scenario.Seeds, seed)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("repeat one of them with: make faults SEEDS=1 SEED=<seed>")
		}
	})
	if len(scenario.Seeds) > 0 {
		componenttest.Run(t, scenario)
	}
	if len(killed) > 0 {
		scenario.Seeds, scenario.Operator = killed, operateProcess(t.TempDir())
		componenttest.Run(t, scenario)
	}
}

func install(ctx context.Context, t *testing.T, admin client.Client) {
	t.Helper()
	definitions, err := manifests.Decode("crd.yaml", gadget.CRD)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range definitions {
		if err := admin.Create(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() error { return admin.List(ctx, &gadget.GadgetList{}) })
}
