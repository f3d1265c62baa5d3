package externals_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externals"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records/secretstest"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

const reconciler = "shop.example.com"

var shop = manifests.Owner{
	Cluster: "c", Reconciler: reconciler, Group: "example.com", Kind: "Shop", Namespace: "a",
	Name: "shop",
}

// world is a component with externals of a cloud. The inventory and the Secrets outlive the process.
type world struct {
	t         *testing.T
	cloud     *componenttest.Cloud
	server    *secretstest.Server
	secrets   *records.Store
	inventory plan.Inventory
	repairs   map[manifests.Key]plan.Repairs
	// waiting is what the component waits for after the last pass, conflicts are its repair conflicts, and nextDue is the
	// time at which the next pass is due.
	waiting   []plan.Waiting
	conflicts []plan.RepairConflict
	nextDue   time.Time
	// retries is set if a pass with an error is made again.
	retries bool
	// recorded is set if there may be recorded states although the inventory is empty.
	recorded bool
	resolved map[manifests.Key]externals.Resolution
	// requested is the annotation that requests a pass.
	requested string
	options   external.Options[componenttest.ThingSpec]
	clock     clock.WithTicker
	// beforeRun, if set, is called between the records of actions and their calls. outdated is set if the component has
	// changed since the pass began.
	beforeRun func()
	outdated  atomic.Bool

	mu      sync.Mutex
	wakes   int
	manager *externals.Manager
	stop    context.CancelFunc
	events  []string
	drivers []external.Driver
	// rendered identifies the manifests of the current revision.
	rendered string
	revision int64
	content  map[metav1alpha1.Reference]externals.Content
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		t: t, cloud: componenttest.NewCloud(), inventory: plan.Inventory{},
		options: external.Options[componenttest.ThingSpec]{
			Rate: 1000, Burst: 1000, Poll: time.Minute, Settle: 5 * time.Second, Timeout: 10 * time.Second,
		}, clock: clock.RealClock{}, server: secretstest.New(),
	}
	w.connect()
	w.start()
	return w
}

// another returns the component as another process sees it, which knows what is recorded.
func (w *world) another(c clock.WithTicker) *world {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := &world{t: w.t, cloud: w.cloud, inventory: maps.Clone(w.inventory), options: w.options, clock: c, server: w.server}
	b.connect()
	b.start()
	return b
}

func (w *world) connect() {
	server := w.server
	w.secrets = records.NewStore(records.Options{
		Reconciler: reconciler, Namespace: "kube-system", Dynamic: server.Dynamic(), Metadata: server.Metadata(),
		NamespaceGoes: func(context.Context, string) bool { return false },
		VerifyCluster: func(context.Context, types.NamespacedName) error { return nil }, Clock: clock.RealClock{},
	})
}

// start starts a process, which knows nothing of an earlier one.
func (w *world) start() {
	ctx, stop := context.WithCancel(w.t.Context())
	w.stop, w.drivers = stop, w.newDrivers()
	w.manager = externals.New(ctx, externals.Options{
		Reconciler: reconciler, States: &externalstate.Store{Records: w.secrets}, Credentials: credentials{w},
		Clock: w.clock,
		Wake: func(types.NamespacedName) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.wakes++
		},
		Tell: func(_ types.NamespacedName, reason, message string) { w.events = append(w.events, reason+": "+message) },
	})
}

// kill ends the process: calls under way have no result for anybody.
func (w *world) kill() {
	w.manager.Forget(shop)
	w.stop()
	synctest.Wait()
}

// credentials implements externals.Credentials.
type credentials struct{ *world }

func (c credentials) Hold(_ context.Context, _ manifests.Owner, secrets []string) error {
	c.events = append(c.events, "hold "+strings.Join(secrets, " "))
	return nil
}

func (c credentials) Release(_ context.Context, _ manifests.Owner, secrets, _ []string) error {
	c.events = append(c.events, "release "+strings.Join(secrets, " "))
	return nil
}

// newDrivers returns the handlers of the three kinds of a cloud.
func (w *world) newDrivers() []external.Driver {
	things := componenttest.Things{Cloud: w.cloud}
	return []external.Driver{
		external.Of("Thing", things, w.options),
		external.Of("FindableThing", componenttest.FindableThings{Things: things}, w.options),
		external.Of("NamedThing", componenttest.NamedThings{Things: things}, w.options),
	}
}

// thing returns the manifest of an external.
func thing(kind, value string, annotations ...string) *unstructured.Unstructured {
	body := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "external.fairlead.io/v1", "kind": kind, "metadata": map[string]any{"name": "one"},
		"spec": map[string]any{"value": value},
	}}
	if kind == "NamedThing" {
		body.Object["spec"] = map[string]any{"value": value, "name": "one"}
	}
	settings := map[string]string{}
	for i := 0; i < len(annotations); i += 2 {
		settings[reconciler+"/"+annotations[i]] = annotations[i+1]
	}
	body.SetAnnotations(settings)
	return body
}

// settle waits until nothing is left to do at this moment. Unlike synctest.Wait it may be called concurrently.
func settle() { time.Sleep(time.Nanosecond) }

// apply makes passes until nothing is left to do, and returns what the component waits for.
func (w *world) apply(bodies ...*unstructured.Unstructured) []plan.Waiting {
	return w.passes(false, bodies)
}

// remove makes the passes of a deletion.
func (w *world) remove() []plan.Waiting { return w.passes(true, nil) }

func (w *world) passes(deleting bool, bodies []*unstructured.Unstructured) []plan.Waiting {
	w.t.Helper()
	desired := w.render(bodies)
	var waiting []plan.Waiting
	for range 20 {
		w.mu.Lock()
		w.wakes = 0
		w.mu.Unlock()
		waiting = w.pass(deleting, desired)
		settle()
		// Results are gathered, and a deletion settles.
		time.Sleep(time.Second)
		settle()
		if w.mu.Lock(); w.wakes == 0 {
			w.mu.Unlock()
			break
		}
		w.mu.Unlock()
	}
	return waiting
}

// render returns the apply set with the given manifests.
func (w *world) render(bodies []*unstructured.Unstructured) []manifests.Object {
	w.t.Helper()
	desired, err := normalise.Manifests(bodies, normalise.Options{Reconciler: reconciler, Namespace: "a", Owner: shop})
	if err != nil {
		w.t.Fatal(err)
	}
	digest := ""
	for _, o := range desired {
		digest += o.Digest
	}
	if digest != w.rendered {
		w.rendered = digest
		w.revision++
	}
	return desired
}

// operate makes a pass, and for some time another one whenever the component is woken or a pass is due, as an operator
// does.
func (w *world) operate(d time.Duration, bodies ...*unstructured.Unstructured) {
	w.t.Helper()
	desired := w.render(bodies)
	due := true
	for end := time.Now().Add(d); time.Now().Before(end); {
		if due {
			w.pass(false, desired)
		}
		time.Sleep(100 * time.Millisecond)
		settle()
		w.mu.Lock()
		due = w.wakes > 0 || !w.nextDue.IsZero() && !w.nextDue.After(time.Now())
		w.wakes = 0
		w.mu.Unlock()
	}
}

// pass makes one pass, as package applier does.
func (w *world) pass(deleting bool, desired []manifests.Object) []plan.Waiting {
	w.t.Helper()
	ctx := w.t.Context()
	session, err := w.manager.Begin(ctx, externals.SessionInput{
		Owner: shop, Component: func() client.Object { return &unstructured.Unstructured{} }, Drivers: w.drivers,
		Desired: desired, Inventory: w.inventory.Sorted(), Revision: w.revision, Trigger: "1", Resolved: w.resolved,
		Recorded: w.recorded, Requested: w.requested,
		Read: func(context.Context, []metav1alpha1.Reference) (map[metav1alpha1.Reference]externals.Content, error) {
			return w.content, nil
		},
	})
	if err != nil {
		w.failed(err)
		return nil
	}
	if session == nil || !session.Synced() {
		return nil
	}
	facts := plan.Facts{
		Owner: shop.ID(), Desired: desired, Revision: w.revision, Trigger: "1", Now: time.Now(), Inventory: w.inventory,
		Repairs: w.repairs,
		Defaults: plan.Policies{
			Reconcile: metav1alpha1.ReconcileOnObjectChange, Update: metav1alpha1.UpdateSSAOverride,
			Adoption: metav1alpha1.AdoptIfUnowned, Delete: metav1alpha1.DeleteDelete,
		},
		Reason: plan.ReasonPruned,
	}
	if deleting {
		facts.Reason = plan.ReasonDeleted
	}
	facts.Results, _ = session.Finished()
	for {
		facts.Live = session.Snapshot(facts)
		planner := plan.ForApply
		if deleting {
			planner = plan.ForDelete
		}
		decided := planner(facts)
		facts.Inventory, facts.Repairs = decided.Inventory, decided.Repairs
		w.repairs, w.conflicts, w.nextDue = decided.Repairs, decided.RepairConflicts, decided.NextDue
		if len(decided.Actions) == 0 {
			w.record(decided.Inventory)
			w.waiting = decided.Waiting
			return decided.Waiting
		}
		if w.outdated.Load() {
			w.failed(errors.New("the component has changed"))
			return nil
		}
		tokens, err := session.Prepare(ctx, decided.Actions)
		if err != nil {
			w.failed(err)
			return nil
		}
		decided.Inventory.EnterTokens(tokens)
		w.record(decided.Inventory)
		if w.beforeRun != nil {
			w.beforeRun()
		}
		for i, result := range session.Run(ctx, decided.Actions) {
			result.Attempts = facts.Results[decided.Actions[i].Key].Attempts + 1
			facts.Results[decided.Actions[i].Key] = result
			if kept, ok := decided.Actions[i].Remembered(result); ok {
				facts.Repairs[decided.Actions[i].Key] = kept
			}
		}
	}
}

// record writes an inventory.
func (w *world) record(inventory plan.Inventory) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inventory = maps.Clone(inventory)
}

// failed enters the error of a pass.
func (w *world) failed(err error) {
	w.t.Helper()
	if !w.retries {
		w.t.Fatal(err)
	}
	w.nextDue = time.Now().Add(time.Second)
}

// values returns the values of the things in the cloud.
func (w *world) values() string {
	var values []string
	for _, t := range w.cloud.Things() {
		values = append(values, t.Value)
	}
	return strings.Join(values, " ")
}

func (w *world) expect(values string, waiting []plan.Waiting, reason string) {
	w.t.Helper()
	if got := w.values(); got != values {
		w.t.Fatalf("the cloud has %q, want %q; waiting: %v", got, values, waiting)
	}
	var got string
	if len(waiting) > 0 {
		got = string(waiting[0].Reason) + " " + waiting[0].Message
	}
	if reason == "" && got != "" || !strings.HasPrefix(got, reason) {
		w.t.Fatalf("the component waits for %q, want %q", got, reason)
	}
}

var kinds = []string{"Thing", "FindableThing", "NamedThing"}

// forKinds runs a test for each kind, with a fake clock.
func forKinds(t *testing.T, kinds []string, test func(t *testing.T, w *world, kind string)) {
	t.Helper()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				test(t, w, kind)
				w.kill()
			})
		})
	}
}
