package plan

import (
	"fmt"
	"slices"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// missingNamespace is a namespace that did not exist, so that the creation of an object failed. Only the response of
// the API server shows that the namespace is missing, because namespaces that are not dependents are not watched.
type missingNamespace struct {
	key manifests.Key
	// implicit is set if the policy creates missing namespaces, and the namespace is not a dependent. owned is set if the
	// created namespace then belongs to the component.
	implicit, owned bool
	// result is the result of the creation of the namespace in this pass.
	result Result
}

// namespaceMissedBy returns the namespace that did not exist, so that the last write of an object failed. The second
// result reports whether there is such a namespace.
func namespaceMissedBy(f Facts, o *manifests.Object, r Result) (missingNamespace, bool) {
	if r.Failure == nil || r.Failure.Reason != WaitNamespaceMissing {
		return missingNamespace{}, false
	}
	key := manifests.Key{Kind: "Namespace", Name: o.Key.Namespace}
	dependent := slices.ContainsFunc(f.Desired, func(o manifests.Object) bool { return o.Key == key })
	return missingNamespace{
		key: key, result: f.Results[key],
		implicit: !dependent && f.Defaults.createsNamespaces(),
		owned:    f.ownsNamespaces() && !isReserved(key),
	}, true
}

// created reports whether the namespace was created in this pass.
func (m missingNamespace) created() bool {
	return m.implicit && m.result.Attempts > 0 && m.result.Failure == nil
}

// createsNamespaces reports whether a missing namespace is created.
func (p Policies) createsNamespaces() bool {
	return p.MissingNamespaces == metav1alpha1.MissingNamespacesCreate ||
		p.MissingNamespaces == metav1alpha1.MissingNamespacesOwn
}

// ruleNamespaceMissing creates a missing namespace if the policy permits that. The created namespace does not become a
// dependent. It is in the inventory, and deleted later, only if it belongs to the component; see IsOwnedNamespace.
func ruleNamespaceMissing(c candidate) (decision, bool) {
	m := c.missing
	switch {
	case !m.implicit || m.created():
		return decision{}, false
	case m.result.Failure != nil:
		return c.fail(Failure{
			Class: m.result.Failure.Class, Reason: WaitNamespaceMissing,
			Message: fmt.Sprintf("namespace %s does not exist, and could not be created: %s; "+
				"create it, or grant the right to create it", m.key.Name, m.result.Failure.Message),
		}), true
	}
	create := Action{
		Verb: VerbCreateNamespace, Key: m.key, Reason: ReasonNamespace, Wave: c.object.Settings.Order,
		Version: "v1", Owner: c.owner,
	}
	if m.owned {
		create.Reason, create.OwnerName = ReasonOwnNamespace, c.ownerName
	}
	return decision{repair: c.applied(), action: &create}, true
}

// addAction adds an action to the list. An action that creates a namespace is added only once, although many objects
// may need the same namespace.
func addAction(actions []Action, a Action) []Action {
	if a.Verb == VerbCreateNamespace && slices.ContainsFunc(actions, func(b Action) bool { return b.Key == a.Key }) {
		return actions
	}
	return append(actions, a)
}
