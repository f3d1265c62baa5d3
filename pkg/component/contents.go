package component

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/execute"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// contents asks the API server what is in a namespace that nothing else would delete: neither we, for it is no dependent that is to go,
// nor Kubernetes itself. A type that cannot be listed may have objects there.
func (e *Engine) contents(ctx context.Context, f plan.Facts, namespace string) plan.Contents {
	resources, err := e.discovery.Resources(ctx, "list", "create")
	if err != nil {
		return plan.Contents{Failure: unlisted(err)}
	}
	resources = slices.DeleteFunc(resources, func(r discovery.Resource) bool {
		return !r.Namespaced || bookkeeping[r.GroupResource()]
	})
	found, err := gather(resources, func(r discovery.Resource) ([]inspect.Instance, error) {
		list, err := e.viewer.Metadata.Resource(r.GroupVersionResource).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", r.GroupResource(), err)
		}
		var instances []inspect.Instance
		for i := range list.Items {
			if !e.goesByItself(r, &list.Items[i]) {
				instances = append(instances, inspect.InstanceOf(r.GroupKind(), &list.Items[i]))
			}
		}
		return instances, nil
	})
	if err != nil {
		return plan.Contents{Failure: unlisted(err)}
	}
	// Of what is ours only that is deleted which is not desired, and which its policy does not keep.
	f.Inventory = going(f)
	rest := foreign(f, found)
	return plan.Contents{Count: rest.Count, Names: rest.Names}
}

// unlisted says why the contents of a namespace are not known.
func unlisted(err error) *plan.Failure {
	failure := execute.Classify(err)
	failure.Message = "it is not known what would go with it: " + failure.Message
	if failure.Class == plan.Terminal {
		failure.Message += "; allow to list all types in it, or delete it yourself"
	}
	return failure
}

// bookkeeping are the types whose objects Kubernetes writes about others; nobody misses them.
var bookkeeping = map[schema.GroupResource]bool{
	{Resource: "events"}:                                    true,
	{Resource: "endpoints"}:                                 true,
	{Group: "events.k8s.io", Resource: "events"}:            true,
	{Group: "discovery.k8s.io", Resource: "endpointslices"}: true,
	{Group: "coordination.k8s.io", Resource: "leases"}:      true,
}

// goesByItself says of an object that a controller puts one into namespaces by itself, that it follows another one that counts itself, or
// that it is being deleted anyway.
func (e *Engine) goesByItself(r discovery.Resource, m *metav1.PartialObjectMetadata) bool {
	if m.DeletionTimestamp != nil || metav1.GetControllerOfNoCopy(m) != nil {
		return true
	}
	_, token := m.Annotations["kubernetes.io/service-account.name"]
	if token && r.GroupKind() == (schema.GroupKind{Kind: "Secret"}) {
		return true
	}
	return slices.ContainsFunc(e.incidental, func(i Incidental) bool { return i.matches(r.GroupKind(), m) })
}

// parallelLists bounds the lists that are under way for one component.
const parallelLists = 8

// gather asks for each resource, some at a time, and returns the answers in the order of the resources. All errors are joined.
func gather[T any](resources []discovery.Resource, ask func(discovery.Resource) ([]T, error)) ([]T, error) {
	answers, errs := make([][]T, len(resources)), make([]error, len(resources))
	slots := make(chan struct{}, parallelLists)
	var wg sync.WaitGroup
	for i, r := range resources {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			answers[i], errs[i] = ask(r)
		})
	}
	wg.Wait()
	return slices.Concat(answers...), errors.Join(errs...)
}
