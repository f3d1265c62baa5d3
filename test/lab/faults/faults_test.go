package faults_test

import (
	"context"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// stepTimeout is the time for a step with its faults. It is long enough for busy machines.
const stepTimeout = 3 * time.Minute

// conflictBackoff lets a step repeat a change for about 10 seconds while the operator writes the same component.
var conflictBackoff = wait.Backoff{Steps: 10, Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.1}

// These are the flags. Example: go test ./test/lab/faults -seeds 1 -seed 123 repeats the run with seed 123.
var (
	seedCount = flag.Int("seeds", defaultSeeds, "the number of seeds to run")
	firstSeed = flag.Uint64("seed", 1, "the first seed")
	parallel  = flag.Int("at-once", 12, "the number of seeds that run concurrently")
)

func TestMain(m *testing.M) {
	if os.Getenv(runAsOperator) != "" {
		os.Exit(operatorMain())
	}
	os.Exit(m.Run())
}

func TestFaults(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
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
	asProcess := operateProcess(t.TempDir())
	scenario := componenttest.Scenario[*gadget.Gadget]{
		Config: cluster.Config(), Scheme: scheme, Reconciler: reconciler, Component: newGadget, Steps: steps,
		Parallel: *parallel,
		Faults:   componenttest.Faults{Most: 8, Crashes: 1}, Timeout: stepTimeout,
		Operator: func(ctx context.Context, config *rest.Config, namespace string) error {
			if isKilled(namespace) {
				return asProcess(ctx, config, namespace)
			}
			return operate(ctx, config, namespace)
		},
	}
	for i := range uint64(*seedCount) {
		scenario.Seeds = append(scenario.Seeds, *firstSeed+i)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("repeat a failed seed with: make faults SEEDS=1 SEED=<seed>")
		}
	})
	t.Run("policies", func(t *testing.T) { componenttest.Run(t, scenario) })
	t.Run("externals", func(t *testing.T) { componenttest.Run(t, externalsScenario(t, cluster.Kubeconfig(), scenario)) })
	t.Run("sources", func(t *testing.T) { componenttest.Run(t, sourcesScenario(t, scenario)) })
	t.Run("values", func(t *testing.T) { componenttest.Run(t, valuesScenario(scenario)) })
}

// isKilled reports whether the operator of a namespace runs in its own process, which the test kills. This is the case
// for every tenth seed. The other operators run in the process of the test, and end when their context ends.
func isKilled(namespace string) bool { return strings.HasSuffix(namespace, "0") }

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
