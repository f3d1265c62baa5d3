package ordering

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/internal/hookorder"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// orderConflict returns an error if the order settings of an object conflict with those of another object in the set,
// and nil otherwise. The error names both objects, both settings and the required change.
type orderConflict func(s orders, o manifests.Object) error

// orderConflicts are the rules for objects that are applied with the component. At the deletion, only delete-order
// settings can cause a conflict: by default objects are deleted in the reverse of the apply order, and instances are
// deleted before all other objects.
var orderConflicts = []orderConflict{
	purgedHolder,
	holderPrunedAtOnce,
	instanceBeforeDefinition,
	contentBeforeNamespace,
	backendBeforeService,
	instanceDeletedAfterDefinition,
	instanceDeletedAfterController,
	contentDeletedAfterNamespace,
	serviceDeletedBeforeBackend,
	servicePurgedBeforeBackend,
}

// phaseConflicts are the rules for objects that are applied in a phase of the deletion.
var phaseConflicts = []orderConflict{phasedHolder, phasedAfterDefinition, phasedAfterNamespace}

// Conflicts returns all order conflicts in a set. Objects that depend on others belong to no wave, so they
// have none. Its time is linear in the size of the set. ownNamespace is the namespace of the owner of the set.
func Conflicts(objects []manifests.Object, ownNamespace string) []error {
	s := newOrders(objects)
	s.ownNamespace = ownNamespace
	var errs []error
	for _, o := range objects {
		if o.InGraph() || o.Settings.IsObserved() {
			continue
		}
		rules := orderConflicts
		if o.Settings.Phase != manifests.PhaseApply {
			rules = phaseConflicts
		}
		for _, conflict := range rules {
			if err := conflict(s, o); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", o.Key, err))
			}
		}
	}
	return errs
}

// orders indexes the objects that are applied with the component and that other objects depend on.
type orders struct {
	// definitions holds two of the objects that define each managed type: the object that is applied last, and the
	// object that is deleted first.
	definitions map[manifests.ManagedType]*span
	namespaces  map[string]manifests.Object
	services    map[manifests.Key]manifests.Object
	// ownNamespace is the namespace of the owner, which is released instead of deleted.
	ownNamespace string
	// controller is the object that is deleted first among all objects that may serve instances: long-running
	// workloads, webhook configurations and APIServices. The set does not show which of these objects serves a type, so
	// instances must be deleted before all of them.
	controller *manifests.Object
}

// span holds two objects of a group of objects: the object that is applied last, and the object that is deleted first.
type span struct{ last, first manifests.Object }

func newOrders(objects []manifests.Object) orders {
	s := orders{
		definitions: map[manifests.ManagedType]*span{}, namespaces: map[string]manifests.Object{},
		services: map[manifests.Key]manifests.Object{},
	}
	for i := range objects {
		if o := &objects[i]; o.Settings.Phase == manifests.PhaseApply && !o.InGraph() && !o.Settings.IsObserved() {
			s.add(o)
		}
	}
	return s
}

func (s *orders) add(o *manifests.Object) {
	for _, t := range o.Types {
		if s.definitions[t] == nil {
			s.definitions[t] = &span{*o, *o}
		}
		known := s.definitions[t]
		if o.Settings.Order > known.last.Settings.Order {
			known.last = *o
		}
		if o.Settings.EffectiveDeleteOrder() < known.first.Settings.EffectiveDeleteOrder() {
			known.first = *o
		}
	}
	gk := o.Key.GroupKind()
	switch {
	case gk == schema.GroupKind{Kind: "Namespace"}:
		s.namespaces[o.Key.Name] = *o
	case gk == schema.GroupKind{Kind: "Service"}:
		s.services[o.Key] = *o
	case controllers[gk] || o.Stage == manifests.StageBackends:
		if s.controller == nil || o.Settings.EffectiveDeleteOrder() < s.controller.Settings.EffectiveDeleteOrder() {
			s.controller = o
		}
	}
}

// controllers are the types of long-running workloads.
var controllers = map[schema.GroupKind]bool{
	{Kind: "Pod"}: true, {Kind: "ReplicationController"}: true,
	{Group: "apps", Kind: "Deployment"}: true, {Group: "apps", Kind: "StatefulSet"}: true,
	{Group: "apps", Kind: "DaemonSet"}: true, {Group: "apps", Kind: "ReplicaSet"}: true,
}

// definitionsOf returns the spans of the definitions of a type.
func (s orders) definitionsOf(gk schema.GroupKind) []*span {
	var found []*span
	for _, kind := range []string{gk.Kind, "*"} {
		if d := s.definitions[manifests.ManagedType{GroupKind: schema.GroupKind{Group: gk.Group, Kind: kind}}]; d != nil {
			found = append(found, d)
		}
	}
	return found
}

// servicesOf returns the Services in the set that a webhook configuration or an APIService names. The API server calls
// the webhook or the aggregated API through these Services.
func (s orders) servicesOf(o manifests.Object) []manifests.Object {
	if o.Stage != manifests.StageBackends {
		return nil
	}
	var found []manifests.Object
	for _, name := range hookorder.Services(o.Body) {
		if service, ok := s.services[manifests.Key{Kind: "Service", Namespace: name.Namespace, Name: name.Name}]; ok {
			found = append(found, service)
		}
	}
	return found
}

// isOrderedAsHook reports whether the order of an object is that of a Helm hook, and not one that an author wrote.
func isOrderedAsHook(o manifests.Object) bool { return hookorder.Set(o.Body, o.Settings.Order) }
