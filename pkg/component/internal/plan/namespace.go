package plan

import (
	"fmt"
	"slices"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// missingNamespace is a namespace that an object was to be created in, and that does not exist. The API server said so: namespaces that are
// no dependents are not watched.
type missingNamespace struct {
	key manifests.Key
	// implicit says that it is created when it is missing: it is no dependent, and the policy says so.
	implicit bool
	// result is what became of that.
	result Result
}

// namespaceMissedBy returns the namespace that the last write of an object missed, if it did.
func namespaceMissedBy(f Facts, o *manifests.Object, r Result) (missingNamespace, bool) {
	if r.Failure == nil || r.Failure.Reason != WaitNamespaceMissing {
		return missingNamespace{}, false
	}
	key := manifests.Key{Kind: "Namespace", Name: o.Key.Namespace}
	dependent := slices.ContainsFunc(f.Desired, func(o manifests.Object) bool { return o.Key == key })
	return missingNamespace{
		key: key, implicit: !dependent && f.Defaults.MissingNamespaces == metav1alpha1.MissingNamespacesCreate, result: f.Results[key],
	}, true
}

// created says that the namespace is there by now.
func (m missingNamespace) created() bool {
	return m.implicit && m.result.Attempts > 0 && m.result.Failure == nil
}

// ruleNamespaceMissing creates a namespace where the policy says so. It is no dependent: it is not recorded, and never deleted.
func ruleNamespaceMissing(c candidate) (decision, bool) {
	m := c.missing
	switch {
	case !m.implicit || m.created():
		return decision{}, false
	case m.result.Failure != nil:
		return c.fail(Failure{
			Class: m.result.Failure.Class, Reason: WaitNamespaceMissing,
			Message: fmt.Sprintf("namespace %s does not exist, and could not be created: %s; create it, or allow that", m.key.Name, m.result.Failure.Message),
		}), true
	}
	return decision{
		repair: c.applied(),
		action: &Action{
			Verb: VerbCreateNamespace, Key: m.key, Reason: ReasonNamespace, Wave: c.object.Settings.Order, Version: "v1", Owner: c.owner,
		},
	}, true
}

// addAction adds an action, unless it is the creation of a namespace that is among them already: many objects may miss the same one.
func addAction(actions []Action, a Action) []Action {
	if a.Verb == VerbCreateNamespace && slices.ContainsFunc(actions, func(b Action) bool { return b.Key == a.Key }) {
		return actions
	}
	return append(actions, a)
}
