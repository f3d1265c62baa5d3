package applier

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// existing are the names of the components that exist. existing implements GuardOwners.
type existing []string

func (existing) Identity(context.Context) (manifests.Owner, error) { return ownerNamed(""), nil }

func (e existing) Exists(_ context.Context, owner manifests.Owner) (bool, error) {
	return slices.Contains(e, owner.Name), nil
}

// putGuard stores the guard of an owner as an earlier process left it.
func (c *cluster) putGuard(owner manifests.Owner, annotation string, created time.Time) {
	for _, kind := range []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} {
		c.server.Put("admissionregistration.k8s.io/v1", kind, "", plan.GuardName(owner.Reconciler, owner.ID()),
			map[string]any{
				"metadata": map[string]any{
					"labels":            map[string]any{owner.Reconciler + "/guard-of": owner.ID()},
					"annotations":       map[string]any{owner.Reconciler + "/guard-of": annotation},
					"creationTimestamp": created.Format(time.RFC3339),
				},
			})
	}
}

// hasGuard reports whether the guard of an owner exists.
func (c *cluster) hasGuard(owner manifests.Owner) bool {
	name := plan.GuardName(owner.Reconciler, owner.ID())
	policy := c.server.Object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "", name)
	binding := c.server.Object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", "", name)
	return policy != nil || binding != nil
}

func TestGuardsOfEarlierProcessesAreRemoved(t *testing.T) {
	c := newCluster(t)
	elsewhere, foreign := ownerNamed("elsewhere"), ownerNamed("foreign")
	elsewhere.Cluster, foreign.Reconciler = "there", "others.example.com"
	young, old := start.Add(-time.Second), start.Add(-time.Hour)
	c.putGuard(ownerNamed("deleted"), ownerNamed("deleted").String(), young)
	c.putGuard(ownerNamed("young"), ownerNamed("young").String(), young)
	c.putGuard(ownerNamed("old"), ownerNamed("old").String(), old)
	c.putGuard(ownerNamed("former"), "", young)
	c.putGuard(elsewhere, elsewhere.String(), old)
	c.putGuard(foreign, foreign.String(), old)
	clock := clocktesting.NewFakeClock(start)
	collector := GuardCollector{Applier: c.applier, Client: c.client, Owners: existing{"young", "old"}, Clock: clock}
	check := func(want ...string) {
		t.Helper()
		var left []string
		for _, name := range []string{"deleted", "young", "old", "former"} {
			if c.hasGuard(ownerNamed(name)) {
				left = append(left, name)
			}
		}
		if !slices.Equal(left, want) {
			t.Errorf("the guards %v are left, want %v", left, want)
		}
		if !c.hasGuard(elsewhere) || !c.hasGuard(foreign) {
			t.Error("a guard of another cluster or another operator was removed")
		}
	}
	due := collector.collect(t.Context())
	check("young", "former")
	if !due.Equal(young.Add(guardIdle)) {
		t.Errorf("the next call is due at %s", due)
	}
	clock.SetTime(due)
	if due = collector.collect(t.Context()); !due.IsZero() {
		t.Errorf("without guards the next call is due at %s", due)
	}
	check()
	before := len(c.took())
	if due = collector.collect(t.Context()); !due.IsZero() || before == 0 || c.took() != "" {
		t.Error("without guards a call sends requests")
	}
}

func TestUnusedGuardsAreRemoved(t *testing.T) {
	c := newCluster(t)
	c.applier.state.setChanged(func() {})
	c.desire(definition())
	c.apply()
	c.establish()
	c.apply()
	c.delete()
	if !c.hasGuard(component) {
		t.Fatal("no guard was set up")
	}
	clock := clocktesting.NewFakeClock(start)
	collector := GuardCollector{Applier: c.applier, Client: c.client, Owners: existing{}, Clock: clock}
	due := collector.collect(t.Context())
	if !c.hasGuard(component) || !due.Equal(start.Add(guardIdle)) {
		t.Errorf("a guard in use was removed, or the next call is due at %s", due)
	}
	broken := true
	c.refuse(func(r apiservertest.Request) error {
		if broken && r.Method == "DELETE" && strings.Contains(r.Path, "validating") {
			return apierrors.NewInternalError(errors.New("broken"))
		}
		return nil
	})
	clock.SetTime(due)
	if due = collector.collect(t.Context()); !c.hasGuard(component) || !due.Equal(clock.Now().Add(guardRetry)) {
		t.Errorf("after an error the next call is due at %s", due)
	}
	broken = false
	clock.SetTime(due)
	if due = collector.collect(t.Context()); c.hasGuard(component) || !due.IsZero() {
		t.Errorf("the unused guard was not removed; the next call is due at %s", due)
	}

	c.request.Now = clock.Now()
	c.delete()
	if !c.hasGuard(component) {
		t.Fatal("a later pass did not set up the guard again")
	}
	c.applier.Forget(component)
	if due = collector.collect(t.Context()); c.hasGuard(component) || !due.IsZero() {
		t.Errorf("the guard of a forgotten owner was not removed; the next call is due at %s", due)
	}
}

func TestGuardsAreNotSearchedWithoutTheRight(t *testing.T) {
	c := newCluster(t)
	lists := 0
	refused := apierrors.NewInternalError(errors.New("broken"))
	c.server.Refuse(func(r apiservertest.Request) error {
		if r.Method == "GET" && strings.Contains(r.Path, "validating") {
			lists++
			return refused
		}
		return nil
	})
	collector := GuardCollector{
		Applier: c.applier, Client: c.client, Owners: existing{},
		Clock: clocktesting.NewFakeClock(start),
	}
	if due := collector.collect(t.Context()); !due.Equal(start.Add(guardRetry)) {
		t.Errorf("after an error the next call is due at %s", due)
	}
	refused = apierrors.NewForbidden(schema.GroupResource{Resource: "policies"}, "", nil)
	for range guardRefusals - 1 {
		if due := collector.collect(t.Context()); !due.Equal(start.Add(guardRetry)) {
			t.Errorf("after a refusal the next call is due at %s", due)
		}
	}
	for range 2 {
		if due := collector.collect(t.Context()); !due.IsZero() || lists != 1+guardRefusals {
			t.Errorf("without the right the next call is due at %s, after %d lists", due, lists)
		}
	}
}
