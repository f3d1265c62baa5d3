package rendering

import (
	"slices"
	"strings"
	"sync"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/lookup"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// maxSourceVersion bounds the name and the version of a source, in bytes.
const maxSourceVersion = 256

// Rendered are the manifests of a rendering, with its look-ups and the results of the determinism check.
type Rendered struct {
	Manifests Manifests
	Lookups   lookup.Lookups
	// ID identifies the record of a rendering that has pinned values, and Note names the fields with these values. Both
	// are empty for a deterministic rendering. Proof is the proof of the record.
	ID, Note string
	Proof    records.Proof
	// ValuesLost is set if the record with the pinned values of the applied objects was lost, so that this rendering has
	// other values. The applied objects are not changed until the inputs change.
	ValuesLost bool
	// taken names the generated values that this rendering took from live objects, because there was no record of them,
	// or from a found record; see liveValues and foundValues. It is empty if there are none.
	taken string
	// isFound is set if Manifests are those of a record that nothing proves; see records.Found. There are no Manifests if
	// the status names such a record, and no record of the inputs was found.
	isFound bool
	// isUnsealed is set on a new rendering with pinned values, until it has an ID.
	isUnsealed bool
	// results are the messages that the generator reported, nil if the generator was not called.
	results *results
	// sourceVersion is the name and the version of the source, as the generator reported it.
	sourceVersion string
}

// Set is the normalised set of a component.
type Set struct {
	Rendered
	// Objects are packed to save memory. A pass without changes does not need their bodies, and a pass that writes
	// unpacks them one by one.
	Objects []manifests.Object
	// Lost says why a pinned rendering could not be read, or which generated values were taken from live objects or from a
	// record that nothing proves. It is empty if nothing was lost. It may be set in a Set that is returned together with
	// an error.
	Lost string

	// inputs and cluster are the input digest and the cluster that the set was rendered for.
	inputs, cluster string
	// after is the id of the recorded rendering that the status named when this set was rendered, empty if it named none.
	after string
	// ignore identifies the rules of ignored fields that the objects were normalised with.
	ignore string
	// outdated is set after a later rendering failed. The objects that it looked up are watched since then, with the
	// versions that it read. So the watches do not tell whether the objects that this set looked up are unchanged, and
	// only the values of this set are used.
	outdated bool
	// size is the memory that the set takes, in bytes.
	size int
	// resets is the number of resets of the RESTMapper at the time when the objects were normalised. If the current number
	// is different, the scopes of types may have changed.
	resets int
}

// ignoreDigest returns a text that identifies rules of ignored fields. It is empty if there are no rules.
func ignoreDigest(rules []normalise.IgnoreRule) string {
	texts := make([]string, 0, len(rules))
	for _, rule := range rules {
		texts = append(texts, rule.String())
	}
	return strings.Join(texts, "\n")
}

// Desired returns the apply set: the objects that are not applied in a phase of the deletion.
func (s Set) Desired() []manifests.Object {
	desired, _ := plan.OfPhase(s.Objects, manifests.PhaseApply)
	return desired
}

// Phases returns the objects that are applied while the component is deleted.
func (s Set) Phases() []manifests.Object {
	_, phases := plan.OfPhase(s.Objects, manifests.PhaseApply)
	return phases
}

// isReplaced reports whether a status names another recorded rendering of the same inputs than this set, and than the
// rendering that this set replaces. Then another operator process has stored a rendering, and this set must not be
// used: its values may differ from those that the other process has applied. A record that was found after the loss of
// the status replaces no set, because nothing proves that an operator process wrote it. Neither does a record of a
// deterministic rendering, because all processes render the same.
func (s Set) isReplaced(status *metav1alpha1.Status) bool {
	named := status.RenderedSet
	if records.IsFound(named) || !records.IsPinned(named) {
		return false
	}
	return named != "" && named != s.ID && named != s.after && status.InputDigest == s.inputs
}

// Results returns the messages that the generator reported. called is false if the generator was not called, because
// the set comes from the cache or from a record.
func (s Set) Results() (list []generator.Result, called bool) { return s.results.all() }

// SourceVersion returns the name and the version of the source, and an empty text if the generator knows no version or
// was not called.
func (s Set) SourceVersion() string { return s.sourceVersion }

// isSettled reports whether the scope of every object was known when it was normalised. Otherwise the set has to be
// normalised again.
func (s Set) isSettled() bool {
	for _, o := range s.Objects {
		if o.Scope == manifests.ScopeUnknown {
			return false
		}
	}
	return true
}

// results collects the messages that a generator reports during a rendering.
type results struct {
	mu   sync.Mutex
	list []generator.Result
	// versions are those of the sources; a generator that merges several charts has several.
	versions []string
}

func (r *results) add(result generator.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, result)
}

func (r *results) addVersion(version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.versions, version) {
		r.versions = append(r.versions, version)
	}
}

// sourceVersion returns the versions that were reported.
func (r *results) sourceVersion() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return passerror.Truncate(strings.Join(r.versions, ", "), maxSourceVersion)
}

func (r *results) all() (list []generator.Result, called bool) {
	if r == nil {
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return append(list, r.list...), true
}

// withoutObserved returns the objects that are applied, without those that are only observed. It does not change its
// argument.
func withoutObserved(objects []manifests.Object) []manifests.Object {
	observed := func(o manifests.Object) bool { return o.Settings.IsObserved() }
	if !slices.ContainsFunc(objects, observed) {
		return objects
	}
	return slices.DeleteFunc(slices.Clone(objects), observed)
}
