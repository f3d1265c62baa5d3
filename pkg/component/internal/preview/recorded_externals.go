package preview

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// notAsked is the reason why the effect of an action on an external is not checked.
const notAsked = "it is outside Kubernetes, and a preview does not ask there"

// recordedExternals implements applier.Externals. It makes no calls: an external is as in the inventory.
type recordedExternals struct {
	// values are recorded values of exports, by name: those that the component publishes, or that its rendering got.
	// The observation of an external itself is not stored.
	values map[string]any
}

// recordedValues returns the values of exports that a request and the status of its component have.
func recordedValues(r applier.Request, published map[string]runtime.RawExtension) map[string]any {
	texts := map[string]string{}
	for name, value := range published {
		texts[name] = string(value.Raw)
	}
	for _, e := range r.Asked {
		if e.Value != "" {
			texts[e.Name] = e.Value
		}
	}
	values := map[string]any{}
	for name, text := range texts {
		var value any
		if json.Unmarshal([]byte(text), &value) == nil {
			values[name] = value
		}
	}
	return values
}

// Synced implements applier.Externals.
func (recordedExternals) Synced() bool { return true }

// Snapshot implements applier.Externals.
func (r recordedExternals) Snapshot(f plan.Facts) plan.Snapshot {
	states, exports := plan.Snapshot{}, r.exports(f)
	for _, key := range f.Keys() {
		if !key.IsExternal() {
			continue
		}
		entry := f.Inventory[key]
		states[key] = &plan.Observed{Presence: plan.Absent, Confirmed: true, UID: entry.UID}
		if entry.UID != "" {
			states[key] = &plan.Observed{
				Presence: plan.Present, UID: entry.UID, ResourceVersion: "recorded", Owner: f.Owner, Digest: entry.Digest,
				Applied: entry.Fields, Updated: entry.Fields, Coverage: plan.CoverageFull,
				Readiness: ready.Result{State: ready.Ready}, MatchResult: &plan.MatchResult{}, Exports: exports[key],
			}
		}
	}
	return states
}

// exports returns the exports of the externals in the apply set. A value is used only if it was stored, and if the
// manifest is the applied one. The other exports are missing.
func (r recordedExternals) exports(f plan.Facts) map[manifests.Key]*plan.Exports {
	found := map[manifests.Key]*plan.Exports{}
	for i := range f.Desired {
		o := &f.Desired[i]
		if !o.Key.IsExternal() || len(o.Settings.Exports()) == 0 {
			continue
		}
		values, failures := map[string]any{}, map[string]plan.ExportFailure{}
		unchanged := digests.Template(f.Inventory[o.Key].Digest) == digests.Template(o.Digest)
		for _, e := range o.Settings.Exports() {
			if value, known := r.values[e.Name]; known && unchanged {
				values[e.Name] = value
				continue
			}
			failures[e.Name] = plan.ExportFailure{Message: notAsked, Missing: true}
		}
		found[o.Key] = plan.NewExports(values, failures)
	}
	return found
}

// bindsUnasked reports whether an object only waits for values of recorded externals, for which a preview does not ask.
func (r *simulation) bindsUnasked(key manifests.Key) bool {
	unbound, waits := r.facts.Unbound[key]
	if !waits || unbound.Failed || len(unbound.Exporters) == 0 {
		return false
	}
	return !slices.ContainsFunc(unbound.Exporters, func(exporter manifests.Key) bool {
		return !exporter.IsExternal() || r.recorded[exporter].UID == ""
	})
}

// addUnasked adds to the forecast that the values which an object binds are not known. If the object is new, or its
// manifest changed in other parts too, its write is a step that is not checked.
func (r *simulation) addUnasked(w plan.Waiting) {
	unbound, o, live := r.facts.Unbound[w.Key], r.object(w.Key), r.facts.Live.Of(w.Key)
	var texts []string
	for i, name := range unbound.Missing {
		texts = append(texts, fmt.Sprintf("export %s of %s", name, unbound.Exporters[i]))
	}
	message := fmt.Sprintf("it binds %s, and a preview does not ask outside Kubernetes", strings.Join(texts, ", "))
	r.forecast.NotAsked = append(r.forecast.NotAsked, result.NotAsked{Key: w.Key, Message: message})
	a := plan.Action{
		Verb: plan.VerbCreate, Key: w.Key, Reason: plan.ReasonNew, Wave: w.Wave, Owner: r.facts.Owner, Object: o,
	}
	switch {
	case o == nil:
		return
	case live.Presence != plan.Present:
	case digests.Template(r.facts.Inventory[w.Key].Digest) != o.Digest:
		a.Verb, a.Reason, a.Preconditions.UID = plan.VerbApply, plan.ReasonChanged, live.UID
	default:
		return
	}
	r.turn++
	r.touched[w.Key] = true
	r.enter(r.step(a, "", asked{unchecked: message}))
}

// Finished implements applier.Externals.
func (recordedExternals) Finished() (map[manifests.Key]plan.Result, []result.Change) {
	return nil, nil
}

// Prepare implements applier.Externals.
func (recordedExternals) Prepare(context.Context, []plan.Action) (map[manifests.Key]string, error) {
	return nil, nil
}

// Run implements applier.Externals. A preview never calls it: the simulation assumes the results.
func (recordedExternals) Run(_ context.Context, actions []plan.Action) []plan.Result {
	return make([]plan.Result, len(actions))
}
