package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/program"
)

// clouds contains the cloud of each namespace.
type clouds struct {
	mu     sync.Mutex
	clouds map[string]*componenttest.Cloud
}

func (c *clouds) of(namespace string) *componenttest.Cloud {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clouds[namespace] == nil {
		c.clouds[namespace] = componenttest.NewCloud()
	}
	return c.clouds[namespace]
}

// cloudsOfOperator is an environment variable with the URL of the clouds. If it is set, an operator in its own process
// handles externals with a service.
const cloudsOfOperator = "FAIRLEAD_TEST_CLOUDS"

// serve serves the things of each cloud as a service for externals. The path of a call is the namespace of the cloud.
func (c *clouds) serve(t *testing.T) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		drivers := kindsOf(c.of(strings.TrimPrefix(r.URL.Path, "/")))
		external.Handler(external.HandlerOptions{}, drivers...).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// operateServed runs the operator with externals that a service handles.
func operateServed(ctx context.Context, config *rest.Config, namespace, url string) error {
	var drivers []external.Driver
	for _, kind := range kindsOfThings {
		driver, err := external.Dial(ctx, kind, external.ServiceOptions{URL: url + "/" + namespace})
		if err != nil {
			return err
		}
		drivers = append(drivers, driver)
	}
	return operateWith(ctx, config, namespace, drivers)
}

// isKilledWithExternals reports whether the operator of a namespace runs in its own process, which the test kills. This
// is the case for two of ten seeds.
func isKilledWithExternals(namespace string) bool {
	return strings.HasSuffix(namespace, "0") || strings.HasSuffix(namespace, "5")
}

// outside are the values for the manifests of a gadget with externals of all kinds.
type outside struct {
	value string
	// names are the names of the externals of each kind. The name of a NamedThing is its id.
	names []string
}

// kindsOfThings are the kinds of externals of a gadget. They differ in the way out of an uncertain create, and
// ListedThings are polled by lists.
var kindsOfThings = []string{"Thing", "FindableThing", "ListedThing", "NamedThing", "RepeatableThing"}

// listedThings are found by their token, and one call lists them.
type listedThings struct{ componenttest.FindableThings }

// List implements external.Lister.
func (k listedThings) List(ctx context.Context, a external.Account) (map[string]componenttest.Thing, error) {
	return componenttest.ListedThings{Things: k.Things}.List(ctx, a)
}

func (v outside) manifests() string {
	var documents []string
	for _, kind := range kindsOfThings {
		for _, name := range v.names {
			id := ""
			if kind == "NamedThing" {
				id = ", name: " + name
			}
			documents = append(documents, fmt.Sprintf(`apiVersion: external.fairlead.io/v1
kind: %s
metadata: {name: %s}
references: [{kind: Secret, name: cloud}]
spec: {value: %s-%s-%s%s}`, kind, name, strings.ToLower(kind), name, v.value, id))
		}
	}
	documents = append(documents, fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata: {name: beside, annotations: {%s/depends-on: "Thing.external.fairlead.io %s"}}
data: {value: %s}`, reconciler, v.names[0], v.value))
	return strings.Join(documents, "\n---\n")
}

func (v outside) change(g *gadget.Gadget) { g.Spec.Manifests = v.manifests() }

// resolveByCommand returns a function that tells the operator about an uncertain create with the command fairlead.
func resolveByCommand(t *testing.T, kubeconfig string) func(ctx context.Context, namespace, external, id string) error {
	t.Helper()
	folder := t.TempDir()
	if err := program.Build(t.Context(), "../../..", folder+"/", "./cmd/fairlead"); err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, namespace, external, id string) error {
		answer := []string{"--absent"}
		if id != "" {
			answer = []string{"--id", id}
		}
		command := exec.CommandContext(ctx, folder+"/fairlead", append([]string{
			"external", "resolve", "--kubeconfig", kubeconfig, "-n", namespace, "--timeout", "10s",
			"gadgets.gadgets.example.com/app", external,
		}, answer...)...)
		output, err := command.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, output)
		}
		return nil
	}
}

// manySeeds is a number of seeds of which several crash in each method of a cloud.
const manySeeds = 200

// checkCrashes returns a function that fails the test if the operators never crashed in one of the methods of a cloud.
func checkCrashes(t *testing.T, seeds int) func(map[string]int) {
	t.Helper()
	return func(crashes map[string]int) {
		t.Logf("crashes in calls: %v", crashes)
		for method, n := range crashes {
			if n == 0 && seeds >= manySeeds {
				t.Errorf("no operator crashed in %s", method)
			}
		}
	}
}

// externalsScenario returns the scenario of a component with externals.
func externalsScenario(
	t *testing.T, kubeconfig string, s componenttest.Scenario[*gadget.Gadget],
) componenttest.Scenario[*gadget.Gadget] {
	t.Helper()
	all := clouds{clouds: map[string]*componenttest.Cloud{}}
	asProcess := operateProcess(t.TempDir(), cloudsOfOperator+"="+all.serve(t))
	s.Name, s.Cloud, s.Resolve, s.ReportCrashes = "externals", all.of, resolveByCommand(t, kubeconfig), checkCrashes(t,
		len(s.Seeds))
	s.Faults.Most, s.Faults.Percent = 12, 20
	s.Component = func(namespace string) *gadget.Gadget {
		g := newGadget(namespace)
		outside{value: "a", names: []string{"one", "two"}}.change(g)
		return g
	}
	s.Bystanders = func(namespace string) []client.Object {
		return []client.Object{&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloud"}, StringData: map[string]string{"token": "t0k3n"},
		}}
	}
	s.Operator = func(ctx context.Context, config *rest.Config, namespace string) error {
		if isKilledWithExternals(namespace) {
			return asProcess(ctx, config, namespace)
		}
		return operateWith(ctx, config, namespace, kindsOf(all.of(namespace)))
	}
	s.Steps = []componenttest.Step[*gadget.Gadget]{
		{Name: "change", Change: outside{value: "b", names: []string{"one", "two"}}.change},
		{Name: "rename", Change: outside{value: "b", names: []string{"three", "two"}}.change},
		{Name: "drift", Disturb: func(ctx context.Context, _ client.Client, namespace string) error {
			return driftThings(ctx, all.of(namespace))
		}},
		{Name: "shrink", Change: outside{value: "c", names: []string{"two"}}.change},
		{Name: "grow", Change: outside{value: "c", names: []string{"two", "one"}}.change},
	}
	return s
}

// driftThings removes some things and changes others, and waits until a poll has shown it and all is repaired.
func driftThings(ctx context.Context, cloud *componenttest.Cloud) error {
	const drifted = "drifted"
	before := cloud.Things()
	for i, t := range before {
		if t.ID == "foreign" {
			continue
		}
		if i%2 == 0 {
			cloud.Remove(t.ID)
			continue
		}
		t.Value = drifted
		cloud.Put(t)
	}
	// If answers are lost, only a person can complete the repair. The scenario waits for that, after this step.
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		now := cloud.Things()
		isDrifted := slices.ContainsFunc(now, func(t componenttest.Thing) bool { return t.Value == drifted })
		if !isDrifted && len(now) == len(before) {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// kindsOf returns the drivers of the things of a cloud.
func kindsOf(cloud *componenttest.Cloud) []external.Driver {
	o := external.Options[componenttest.ThingSpec]{
		Poll: 300 * time.Millisecond, Settle: 150 * time.Millisecond, Timeout: 2 * time.Second,
		Rate: 1000, Burst: 1000, Concurrency: 8,
	}
	repeatable := o
	repeatable.IdempotentFor = time.Hour
	things := componenttest.Things{Cloud: cloud}
	findable := componenttest.FindableThings{Things: things}
	return []external.Driver{
		external.Of("Thing", things, o),
		external.Of("FindableThing", findable, o),
		external.Of("ListedThing", listedThings{findable}, o),
		external.Of("NamedThing", componenttest.NamedThings{Things: things}, o),
		external.Of("RepeatableThing", componenttest.RepeatableThings{Things: things}, repeatable),
	}
}

// operateWith runs the operator with externals.
func operateWith(ctx context.Context, config *rest.Config, namespace string, drivers []external.Driver) error {
	return operateOptions(ctx, config, namespace, component.Options{Externals: drivers})
}
