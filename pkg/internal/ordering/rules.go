package ordering

import (
	"errors"
	"fmt"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/builtintypes"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// deleteOrderText returns the delete order and its origin for messages.
func deleteOrderText(s manifests.Settings) string {
	if s.DeleteOrder != nil {
		return fmt.Sprintf("delete-order %d", *s.DeleteOrder)
	}
	return fmt.Sprintf("delete-order %d (the reverse of its order)", -s.Order)
}

func purgedHolder(_ orders, o manifests.Object) error {
	if o.Settings.PurgeOrder == nil || !builtintypes.HoldsOthers(o.Key.GroupKind()) {
		return nil
	}
	return fmt.Errorf("its purge-order %d would delete all objects that it contains or defines; remove the "+
		"setting", *o.Settings.PurgeOrder)
}

func holderPrunedAtOnce(_ orders, o manifests.Object) error {
	if o.Settings.PrunePolicy() != metav1alpha1.PruneAtOnce || !builtintypes.HoldsOthers(o.Key.GroupKind()) {
		return nil
	}
	return errors.New("its prune-policy at-once would delete all objects that it contains or defines while they are " +
		"still needed; remove the setting")
}

func instanceBeforeDefinition(s orders, o manifests.Object) error {
	for _, d := range s.definitionsOf(o.Key.GroupKind()) {
		if o.Settings.Order < d.last.Settings.Order {
			return fmt.Errorf(
				"its order %d is before order %d of %s, which defines its type; give it order %d or a later one",
				o.Settings.Order,
				d.last.Settings.Order,
				d.last.Key,
				d.last.Settings.Order,
			)
		}
	}
	return nil
}

func contentBeforeNamespace(s orders, o manifests.Object) error {
	n, ok := s.namespaces[o.Key.Namespace]
	if !ok || o.Settings.Order >= n.Settings.Order {
		return nil
	}
	return fmt.Errorf("its order %d is before order %d of %s, which contains it; give it order %d or a later one",
		o.Settings.Order, n.Settings.Order, n.Key, n.Settings.Order)
}

// backendBeforeService returns an error if a webhook configuration or an APIService is applied before the Service that
// it names. The orders of Helm hooks are no error, because Helm installs them in these orders, too.
func backendBeforeService(s orders, o manifests.Object) error {
	for _, service := range s.servicesOf(o) {
		if o.Settings.Order < service.Settings.Order && !isOrderedAsHook(o) && !isOrderedAsHook(service) {
			return fmt.Errorf(
				"its order %d is before order %d of %s, through which the API server would call it; give it order %d or a later "+
					"one",
				o.Settings.Order,
				service.Settings.Order,
				service.Key,
				service.Settings.Order,
			)
		}
	}
	return nil
}

// instanceDeletedAfterDefinition returns an error if the delete order of an instance is after that of the definition of
// its type. Kubernetes deletes all instances together with their definition, so this delete order could not be kept.
func instanceDeletedAfterDefinition(s orders, o manifests.Object) error {
	if o.Settings.DeleteOrder == nil {
		return nil
	}
	for _, d := range s.definitionsOf(o.Key.GroupKind()) {
		if first := d.first.Settings.EffectiveDeleteOrder(); *o.Settings.DeleteOrder > first {
			return fmt.Errorf(
				"its delete-order %d is after %s of %s, which defines its type; give it delete-order %d or an earlier one, or "+
					"remove the setting",
				*o.Settings.DeleteOrder,
				deleteOrderText(d.first.Settings),
				d.first.Key,
				first,
			)
		}
	}
	return nil
}

// instanceDeletedAfterController returns an error if the delete order of an instance is after that of an object that
// may be its controller. Without the controller, the finalizers of the instance would never be removed.
func instanceDeletedAfterController(s orders, o manifests.Object) error {
	if o.Settings.DeleteOrder == nil || o.Stage != manifests.StageInstances || s.controller == nil {
		return nil
	}
	first := s.controller.Settings.EffectiveDeleteOrder()
	if *o.Settings.DeleteOrder <= first {
		return nil
	}
	return fmt.Errorf(
		"its delete-order %d is after %s of %s, which may serve its type; instances must be deleted first: "+
			"give it delete-order %d or an earlier one, or remove the setting",
		*o.Settings.DeleteOrder,
		deleteOrderText(s.controller.Settings),
		s.controller.Key,
		first,
	)
}

func contentDeletedAfterNamespace(s orders, o manifests.Object) error {
	n, ok := s.namespaces[o.Key.Namespace]
	explicit := o.Settings.DeleteOrder != nil || n.Settings.DeleteOrder != nil && o.Stage != manifests.StageInstances
	if !ok || !explicit || o.Settings.EffectiveDeleteOrder() <= n.Settings.EffectiveDeleteOrder() {
		return nil
	}
	return fmt.Errorf(
		"its %s is after %s of %s, which contains it; give it an earlier delete-order, or the namespace a later one",
		deleteOrderText(o.Settings),
		deleteOrderText(n.Settings),
		n.Key,
	)
}

// serviceDeletedBeforeBackend returns an error if the delete order of a Service is before that of the webhook
// configuration or APIService that names it. Without the Service the calls of the API server fail, and the API server
// refuses further deletions.
func serviceDeletedBeforeBackend(s orders, o manifests.Object) error {
	for _, service := range s.servicesOf(o) {
		explicit := o.Settings.DeleteOrder != nil || service.Settings.DeleteOrder != nil
		if explicit && o.Settings.EffectiveDeleteOrder() > service.Settings.EffectiveDeleteOrder() {
			return fmt.Errorf(
				"its %s is after %s of %s, through which the API server calls it; give it an earlier delete-order, or the "+
					"service a later one",
				deleteOrderText(o.Settings),
				deleteOrderText(service.Settings),
				service.Key,
			)
		}
	}
	return nil
}

func servicePurgedBeforeBackend(s orders, o manifests.Object) error {
	for _, service := range s.servicesOf(o) {
		purge := service.Settings.PurgeOrder
		if purge != nil && !isOrderedAsHook(service) && (o.Settings.PurgeOrder == nil || *o.Settings.PurgeOrder > *purge) {
			return fmt.Errorf(
				"the purge-order %d of %s, through which the API server calls it, is before its own deletion; remove the setting "+
					"from the service",
				*purge,
				service.Key,
			)
		}
	}
	return nil
}

func phasedHolder(_ orders, o manifests.Object) error {
	if !builtintypes.HoldsOthers(o.Key.GroupKind()) {
		return nil
	}
	return fmt.Errorf(
		"its phase is %s, but an object that contains or defines others must exist from the start; remove the setting",
		o.Settings.Phase,
	)
}

func phasedAfterDefinition(s orders, o manifests.Object) error {
	definitions := s.definitionsOf(o.Key.GroupKind())
	if o.Settings.Phase != manifests.PhasePostDelete || len(definitions) == 0 {
		return nil
	}
	return fmt.Errorf(
		"its phase is %s, when %s, which defines its type, no longer exists; give it phase %s",
		o.Settings.Phase,
		definitions[0].first.Key,
		manifests.PhasePreDelete,
	)
}

func phasedAfterNamespace(s orders, o manifests.Object) error {
	n, ok := s.namespaces[o.Key.Namespace]
	if !ok || o.Settings.Phase != manifests.PhasePostDelete || n.Key.Name == s.ownNamespace {
		return nil
	}
	return fmt.Errorf(
		"its phase is %s, when %s, which contains it, no longer exists; give it phase %s, or another namespace",
		o.Settings.Phase,
		n.Key,
		manifests.PhasePreDelete,
	)
}
