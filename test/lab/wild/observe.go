package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const (
	// listsAtOnce is the maximum number of concurrent list requests.
	listsAtOnce = 8
	// settleTimeout is the maximum time in which deleted objects may disappear after a program has ended.
	settleTimeout = 20 * time.Second
	settlePause   = 500 * time.Millisecond
)

// observer reads all objects of a cluster.
type observer struct {
	discovery discovery.DiscoveryInterface
	dynamic   dynamic.Interface
}

// newObserver returns an observer whose requests have their own user agent.
func newObserver(config *rest.Config) (observer, error) {
	config = rest.CopyConfig(config)
	config.UserAgent, config.WarningHandler = agent, rest.NoWarnings{}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return observer{}, err
	}
	c, err := dynamic.NewForConfig(config)
	return observer{discovery: d, dynamic: c}, err
}

// objects returns all objects of the cluster, except those that Kubernetes or a controller created.
func (o observer) objects(ctx context.Context) (objects, error) {
	all, err := o.everything(ctx)
	maps.DeleteFunc(all, func(_ id, object *unstructured.Unstructured) bool { return isMade(object) })
	return all, err
}

// everything returns all objects of the cluster.
func (o observer) everything(ctx context.Context) (objects, error) {
	types, err := o.types()
	if err != nil {
		return nil, err
	}
	var (
		mutex  sync.Mutex
		group  sync.WaitGroup
		found  = objects{}
		failed = map[string]error{}
		slots  = make(chan struct{}, listsAtOnce)
	)
	for _, resource := range types {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			list, err := o.dynamic.Resource(resource).List(ctx, metav1.ListOptions{})
			mutex.Lock()
			defer mutex.Unlock()
			if err != nil {
				failed[resource.String()] = err
				return
			}
			for i := range list.Items {
				found.add(&list.Items[i])
			}
		})
	}
	group.Wait()
	// A list can fail because the type was deleted after discovery, or because no server responds for an API that a
	// chart defines. So only a failure of all lists is an error.
	if len(failed) == len(types) {
		first := slices.Min(slices.Collect(maps.Keys(failed)))
		return nil, fmt.Errorf("list %s: %w", first, failed[first])
	}
	return found, ctx.Err()
}

// types returns the types that can be listed, in their preferred versions. It leaves out APIs that do not respond.
func (o observer) types() ([]schema.GroupVersionResource, error) {
	lists, err := o.discovery.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("discover types: %w", err)
	}
	var types []schema.GroupVersionResource
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("discover types: %w", err)
		}
		for i := range list.APIResources {
			resource := &list.APIResources[i]
			if slices.Contains(resource.Verbs, "list") && slices.Contains(resource.Verbs, "delete") {
				types = append(types, gv.WithResource(resource.Name))
			}
		}
	}
	return types, nil
}

// settled waits until no object is being deleted and no further object disappears, and returns the objects.
func (o observer) settled(ctx context.Context) (objects, error) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	previous, err := o.objects(ctx)
	for {
		if err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return previous, nil
		case <-time.After(settlePause):
		}
		now, err := o.objects(ctx)
		if err != nil {
			return previous, nil //nolint:nilerr // The timeout has passed, so the last objects are returned.
		}
		if len(previous.without(now)) == 0 && !now.disappear() {
			return now, nil
		}
		previous = now
	}
}

// disappear reports whether one of the objects is being deleted.
func (o objects) disappear() bool {
	for _, object := range o {
		if object.GetDeletionTimestamp() != nil {
			return true
		}
	}
	return false
}

// madeKinds are the kinds whose objects only Kubernetes creates.
var madeKinds = []string{
	"Event",
	"Lease",
	"Endpoints",
	"EndpointSlice",
	"IPAddress",
	"Node",
	"CSINode",
	"ControllerRevision",
	"VolumeAttachment",
}

// isMade reports whether Kubernetes or a controller created an object, and not a program that installs a chart.
func isMade(o *unstructured.Unstructured) bool {
	if slices.Contains(madeKinds, o.GetKind()) || metav1.GetControllerOf(o) != nil {
		return true
	}
	switch o.GetKind() {
	case "ConfigMap":
		return o.GetName() == "kube-root-ca.crt"
	case "ServiceAccount":
		return o.GetName() == "default"
	case "PersistentVolume":
		return o.GetAnnotations()["pv.kubernetes.io/provisioned-by"] != ""
	case "APIService":
		_, automatic := o.GetLabels()["kube-aggregator.kubernetes.io/automanaged"]
		return automatic
	}
	return false
}

// isBookkeeping reports whether an object is a record of Helm or Fairlead, and not part of the chart.
func isBookkeeping(o *unstructured.Unstructured) bool {
	if o.GetKind() == "Secret" && o.Object["type"] == "helm.sh/release.v1" {
		return true
	}
	gv, err := schema.ParseGroupVersion(o.GetAPIVersion())
	if err == nil && gv.Group == "fairlead.io" {
		return true
	}
	for label := range o.GetLabels() {
		if strings.HasSuffix(label, "fairlead.io/source-of") || strings.HasSuffix(label, "fairlead.io/record-of") {
			return true
		}
	}
	return false
}

// ofChart returns the objects without the records of Helm and Fairlead.
func (o objects) ofChart() objects {
	kept := objects{}
	for key, object := range o {
		if !isBookkeeping(object) {
			kept[key] = object
		}
	}
	return kept
}
