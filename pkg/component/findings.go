package component

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rights"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// maxMissed is how many types are named that a search for dependents did not reach; the rest is counted.
const maxMissed = 8

// listing is what a search found of a type, and where it looked.
type listing struct {
	resource discovery.Resource
	entries  []metav1alpha1.InventoryEntry
	// everywhere says that all objects of the type were listed; where they were not, namespaces are those in which they were, and refused says why.
	everywhere bool
	namespaces []string
	refused    error
}

// findings are what a search for dependents came to, by type.
type findings []listing

// entries are the dependents that were found.
func (f findings) entries() []metav1alpha1.InventoryEntry {
	var found []metav1alpha1.InventoryEntry
	for _, l := range f {
		found = append(found, l.entries...)
	}
	return found
}

// saw says that anything at all could be listed in a namespace: what has no namespace, such as definitions, may be open to everybody. Of no
// namespace it says that anything could be listed anywhere.
func (f findings) saw(namespace string) bool {
	return slices.ContainsFunc(f, func(l listing) bool {
		if namespace == "" {
			return l.everywhere || len(l.namespaces) > 0
		}
		return l.everywhere && l.resource.Namespaced || slices.Contains(l.namespaces, namespace)
	})
}

// beside leaves a type out.
func (f findings) beside(gk schema.GroupKind) findings {
	return slices.DeleteFunc(slices.Clone(f), func(l listing) bool { return l.resource.GroupKind() == gk })
}

// refusal is why a namespace could not be looked at, for one type of those that it has.
func (f findings) refusal(namespace string) error {
	for _, l := range f {
		if l.refused != nil && (l.resource.Namespaced || namespace == "") {
			return l.refused
		}
	}
	return nil
}

// missed says where a search did not look; it is empty where it did everywhere.
func (f findings) missed() string {
	var nowhere, places []string
	somewhere := map[string][]string{}
	for _, l := range f {
		name, place := l.resource.GroupResource().String(), strings.Join(bounded(l.namespaces), ", ")
		switch {
		case l.everywhere:
		case len(l.namespaces) == 0:
			nowhere = append(nowhere, name)
		default:
			if somewhere[place] == nil {
				places = append(places, place)
			}
			somewhere[place] = append(somewhere[place], name)
		}
	}
	var parts []string
	if len(nowhere) > 0 {
		parts = append(parts, "not listed, because that is forbidden: "+strings.Join(bounded(nowhere), ", "))
	}
	for _, place := range places {
		parts = append(parts, "listed in "+place+" only: "+strings.Join(bounded(somewhere[place]), ", "))
	}
	return strings.Join(parts, "; ")
}

// bounded names the first ones, and counts the others.
func bounded(names []string) []string {
	if len(names) <= maxMissed {
		return names
	}
	return append(slices.Clone(names[:maxMissed]), fmt.Sprintf("and %d more", len(names)-maxMissed))
}

// checkSight refuses to take for the whole record what was found where nothing could be looked at: all dependents would be left behind, and
// nobody told. A deletion need not find what is in a namespace that goes, nor may it wait for rights that went with the component's own, which
// those in another cluster don't.
func (r *Reconciler[T]) checkSight(ctx context.Context, component T, e *Engine, found findings) error {
	if e.viewer.Name == "" {
		// An operator sees its components, whatever else it may see.
		found = found.beside(r.gvk.GroupKind())
	}
	place := placeOf(component)
	deleting := !component.GetDeletionTimestamp().IsZero()
	if found.saw(place) || deleting && (e.checking.NamespaceGoes(ctx, place) || !e.elsewhere && r.local.checking.NamespaceGoes(ctx, component.GetNamespace())) {
		return nil
	}
	where := "in the namespace " + place
	if place == "" {
		where = "anywhere"
	}
	refused := fmt.Sprint(found.refusal(place))
	message := fmt.Sprintf("the recorded inventory is lost or damaged, and cannot be rebuilt from the owner labels, because no type of dependents may be listed %s, "+
		"such as: %v; %s", where, refused, rights.Advice(refused, e.user, "allow that user to list the types of the dependents there"))
	switch {
	case deleting:
		message += status.HintGiveUp
	case component.GetStatus().Reconciler == "":
		message += "; or remove the operator's finalizer from the component, which then goes on without: what is not rendered any more stays, with its label"
	}
	return &condition.Error{Reason: metav1alpha1.ReasonForbidden, Terminal: true, Message: message}
}

// tellMissed tells, once, what a rebuilt inventory may lack. A deletion says so until it ends: nobody looks for that later.
func (r *Reconciler[T]) tellMissed(ctx context.Context, component T, owner manifests.Owner, found findings) {
	missed := found.missed()
	if missed == "" {
		return
	}
	note := "the recorded inventory was lost or damaged, and rebuilt from owner labels; " + missed +
		"; find what it lacks by the label " + r.name + "/" + manifests.LabelOwnerID + "=" + owner.ID()
	log.FromContext(ctx).Info("the rebuilt inventory may lack dependents", "missed", missed)
	r.tell(component, status.Warning("InventoryIncomplete", note))
	if !component.GetDeletionTimestamp().IsZero() {
		r.missed.enter(client.ObjectKeyFromObject(component), note)
	}
}
