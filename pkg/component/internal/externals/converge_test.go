package externals_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// zonedThings are things in zones: the name in the spec is the zone, and each zone is an account. A list shows the
// things of its zone, except those whose value begins with "unlisted".
type zonedThings struct{ componenttest.FindableThings }

// Create implements external.Creator.
func (k zonedThings) Create(
	ctx context.Context, r external.Ref[componenttest.ThingSpec],
) (external.Created[componenttest.Thing], error) {
	created, err := k.FindableThings.Create(ctx, r)
	// An external whose value is later is observed later.
	if strings.HasSuffix(r.Spec.Value, "later") {
		created.Observed = componenttest.Thing{}
	}
	return created, err
}

// List implements external.Lister.
func (k zonedThings) List(ctx context.Context, _ external.Account) (map[string]componenttest.Thing, error) {
	found, err := componenttest.ListedThings{Things: k.Things}.List(ctx, external.Account{})
	for id, t := range found {
		if strings.HasPrefix(t.Value, "unlisted") {
			delete(found, id)
		}
	}
	return found, err
}

// chaos are the things that happen to the externals of a component.
type chaos struct {
	*world
	*rand.Rand

	bodies []*unstructured.Unstructured
}

// fault returns a function that delays calls, and lets some of them fail.
func fault(likely float64) func(componenttest.CloudCall) componenttest.CloudFault {
	return func(componenttest.CloudCall) componenttest.CloudFault {
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Millisecond)
		if rand.Float64() > likely {
			return componenttest.CloudFault{}
		}
		return []componenttest.CloudFault{
			{Before: errors.New("503")},
			{After: errors.New("reset")},
			{Stale: true},
			{Before: external.Refused(errors.New("400"))},
			{Before: external.RefusedFor(errors.New("429"), 2*time.Second)},
		}[rand.IntN(5)]
	}
}

// value is a random value of a thing.
func (c *chaos) value() string {
	return []string{"", "unlisted "}[c.IntN(2)] + fmt.Sprint(c.IntN(3)) + []string{"", " later"}[c.IntN(2)]
}

// edit changes the manifest of an external, or moves it to another account.
func (c *chaos) edit() {
	i := c.IntN(len(c.bodies))
	c.bodies[i] = c.bodies[i].DeepCopy()
	c.bodies[i].Object["spec"] = map[string]any{"value": c.value(), "name": fmt.Sprint("zone-", c.IntN(2))}
}

// happen does one thing.
func (c *chaos) happen() {
	things := c.cloud.Things()
	switch n := c.IntN(10); {
	case n < 3:
		c.edit()
	case n < 5 && len(things) > 0:
		t := things[c.IntN(len(things))]
		t.Value = c.value()
		c.cloud.Put(t)
	case n == 5 && len(things) > 0:
		c.cloud.Remove(things[c.IntN(len(things))].ID)
	case n == 6:
		c.cloud.SetFault(fault([]float64{0, 0.3, 1}[c.IntN(3)]))
	case n == 7:
		c.manager.Pause(shop)
	case n == 8 && c.IntN(4) == 0:
		c.kill()
		c.start()
		c.handleZones()
	}
}

func (w *world) handleZones() {
	w.drivers = []external.Driver{external.Of("ZonedThing", zonedThings{componenttest.FindableThings{
		Things: componenttest.Things{Cloud: w.cloud},
	}}, w.options)}
}

// Whatever happens, after some quiet time the facts that the last pass saw are what the external system answers.
func TestFactsConverge(t *testing.T) {
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { converge(t, seed) })
		})
	}
}

func converge(t *testing.T, seed uint64) {
	t.Helper()
	w := newWorld(t)
	w.options.Poll, w.options.Settle = 20*time.Second, 3*time.Second
	w.options.Concurrency, w.options.Rate, w.options.Burst = 2, 5, 2
	w.options.Account = func(r external.Ref[componenttest.ThingSpec]) string { return r.Spec.Name }
	w.retries = true
	w.handleZones()
	c := &chaos{world: w, Rand: rand.New(rand.NewPCG(seed, 1))}
	for i := range 3 {
		body := thing("ZonedThing", "a")
		body.SetName(fmt.Sprint("thing-", i))
		c.bodies = append(c.bodies, body)
		c.edit()
	}
	for range 30 {
		c.happen()
		w.operate(time.Duration(c.IntN(4000))*time.Millisecond, c.bodies...)
	}
	w.cloud.SetFault(nil)
	w.operate(10*time.Minute, c.bodies...)
	c.expectConverged()
	// Only polls show the changes of other clients.
	for _, t := range w.cloud.Things() {
		t.Value = c.value() + " by others"
		w.cloud.Put(t)
	}
	w.operate(3*time.Minute, c.bodies...)
	c.expectConverged()
	w.kill()
}

// expectConverged expects that each external has the value of its manifest, and is seen so.
func (c *chaos) expectConverged() {
	c.t.Helper()
	values := map[string]string{}
	for _, thing := range c.cloud.Things() {
		values[thing.ID] = thing.Value
	}
	for _, body := range c.bodies {
		key := manifests.Key{Group: manifests.ExternalGroup, Kind: "ZonedThing", Name: body.GetName()}
		want, _, _ := unstructured.NestedString(body.Object, "spec", "value")
		seen, unknown := c.manager.Get(shop, key)
		if seen == nil {
			c.t.Errorf("%s is not seen: %s", body.GetName(), unknown)
			continue
		}
		id, _, _ := unstructured.NestedString(seen.Object, "id")
		value, _, _ := unstructured.NestedString(seen.Object, "status", "value")
		if value != want || values[id] != want {
			c.t.Errorf("the value of %s is %q, seen as %q, want %q; repair conflicts %v, next pass %s",
				body.GetName(), values[id], value, want, c.conflicts, c.nextDue)
		}
	}
	if len(c.waiting) > 0 {
		c.t.Errorf("the component waits for %v", c.waiting)
	}
}
