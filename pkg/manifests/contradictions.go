package manifests

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// contradiction says why the orders of an object cannot be kept together with those of another one in its set; nil if they can. The error
// names both objects, both settings, and what to do.
type contradiction func(s orders, o Object) error

// contradictions of objects that belong to the apply set. Explicit orders only can contradict on deletion: without one an object goes in
// the reverse of the order in which it is applied, and instances go before everything else.
var contradictions = []contradiction{
	purgedHolder,
	instanceBeforeDefinition,
	contentBeforeNamespace,
	backendBeforeService,
	instanceDeletedAfterDefinition,
	instanceDeletedAfterController,
	contentDeletedAfterNamespace,
	serviceDeletedBeforeBackend,
	servicePurgedBeforeBackend,
}

// phaseContradictions of objects that are applied in a phase of the deletion.
var phaseContradictions = []contradiction{phasedHolder, phasedAfterDefinition, phasedAfterNamespace}

// contradicting reports all contradictions in a set, in time linear to its size.
func contradicting(objects []Object) []error {
	s := newOrders(objects)
	var errs []error
	for _, o := range objects {
		rules := contradictions
		if o.Settings.Phase != PhaseApply {
			rules = phaseContradictions
		}
		for _, contradicts := range rules {
			if err := contradicts(s, o); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", o.Key, err))
			}
		}
	}
	return errs
}

// orders index the apply set by what others depend on.
type orders struct {
	// definitions holds for each managed type the definitions that are applied last and deleted first.
	definitions map[ManagedType]*span
	namespaces  map[string]Object
	services    map[Key]Object
	// controller is what is deleted first of all that may serve instances: workloads that run until they are deleted, and what the API
	// server calls through them. Which of them serves a type nobody can tell.
	controller *Object
}

// span holds of several objects the one that is applied last, and the one that is deleted first.
type span struct{ last, first Object }

func newOrders(objects []Object) orders {
	s := orders{definitions: map[ManagedType]*span{}, namespaces: map[string]Object{}, services: map[Key]Object{}}
	for i := range objects {
		if o := &objects[i]; o.Settings.Phase == PhaseApply {
			s.add(o)
		}
	}
	return s
}

func (s *orders) add(o *Object) {
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
	case controllers[gk] || o.Stage == StageBackends:
		if s.controller == nil || o.Settings.EffectiveDeleteOrder() < s.controller.Settings.EffectiveDeleteOrder() {
			s.controller = o
		}
	}
}

// controllers are the types of workloads that run until they are deleted.
var controllers = map[schema.GroupKind]bool{
	{Kind: "Pod"}: true, {Kind: "ReplicationController"}: true,
	{Group: "apps", Kind: "Deployment"}: true, {Group: "apps", Kind: "StatefulSet"}: true,
	{Group: "apps", Kind: "DaemonSet"}: true, {Group: "apps", Kind: "ReplicaSet"}: true,
}

// definitionsOf returns what is known of the definitions of a type.
func (s orders) definitionsOf(gk schema.GroupKind) []*span {
	var found []*span
	for _, kind := range []string{gk.Kind, "*"} {
		if d := s.definitions[ManagedType{schema.GroupKind{Group: gk.Group, Kind: kind}}]; d != nil {
			found = append(found, d)
		}
	}
	return found
}

// servicesOf returns the services of the set through which the API server calls what an object configures.
func (s orders) servicesOf(o Object) []Object {
	if o.Stage != StageBackends {
		return nil
	}
	var found []Object
	for _, key := range servicesNamed(o.Body) {
		if service, ok := s.services[key]; ok {
			found = append(found, service)
		}
	}
	return found
}

// servicesNamed returns the services that an APIService or a webhook configuration names.
func servicesNamed(body *unstructured.Unstructured) []Key {
	configs := []any{body.Object["spec"]}
	webhooks, _, _ := unstructured.NestedSlice(body.Object, "webhooks")
	for _, w := range webhooks {
		if webhook, ok := w.(map[string]any); ok {
			configs = append(configs, webhook["clientConfig"])
		}
	}
	var keys []Key
	for _, c := range configs {
		config, _ := c.(map[string]any)
		namespace, _, _ := unstructured.NestedString(config, "service", "namespace")
		name, _, _ := unstructured.NestedString(config, "service", "name")
		if name != "" {
			keys = append(keys, Key{Kind: "Service", Namespace: namespace, Name: name})
		}
	}
	return keys
}

// holders are the types whose objects take others along.
var holders = map[schema.GroupKind]bool{
	{Kind: "Namespace"}: true,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: true,
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:             true,
}
