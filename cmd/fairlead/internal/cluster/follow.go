package cluster

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// See is a function that is called with each state of a component, and with nil when the component no longer exists. It
// returns true to end the watch.
type See func(*unstructured.Unstructured) (bool, error)

// Follow watches a component, and calls see with the state in from and with each later state, until see returns true or
// an error, or the context ends. If the context ends, it returns the context's error. It resumes an interrupted watch,
// unless the API server refuses the watch because of a missing right.
func (c *Cluster) Follow(ctx context.Context, from *unstructured.Unstructured, see See) error {
	f := &follower{cluster: c, uid: from.GetUID(), latest: from, see: see}
	done, err := see(from)
	if done || err != nil {
		return err
	}
	first := true
	return retry(ctx, func() (done, progress bool, err error) {
		if !first {
			if done, err = f.reread(ctx); done || err != nil {
				return done, false, err
			}
		}
		first = false
		return f.watch(ctx)
	})
}

// follower is the state of a call of Follow.
type follower struct {
	cluster *Cluster
	uid     types.UID
	latest  *unstructured.Unstructured
	see     See
}

// watch watches from the latest state until the connection ends. Heard reports whether there were watch events.
func (f *follower) watch(ctx context.Context) (done, heard bool, err error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(f.latest.GroupVersionKind())
	watcher, err := f.cluster.watcher.Watch(ctx, list,
		client.InNamespace(f.latest.GetNamespace()),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", f.latest.GetName())},
		resourceVersion(f.latest.GetResourceVersion()))
	if err != nil {
		return false, false, finalOnly(err)
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		obj, ok := event.Object.(*unstructured.Unstructured)
		if event.Type == watch.Error || !ok {
			return false, heard, nil
		}
		heard = true
		if done, err := f.take(event.Type, obj); done || err != nil {
			return done, heard, err
		}
	}
	return false, heard, nil
}

func (f *follower) take(event watch.EventType, obj *unstructured.Unstructured) (bool, error) {
	if event == watch.Bookmark {
		return false, nil
	}
	if event == watch.Deleted || obj.GetUID() != f.uid {
		return f.see(nil)
	}
	f.latest = obj
	return f.see(obj)
}

// reread reads the component after an interrupted watch, and calls see with its state.
func (f *follower) reread(ctx context.Context) (bool, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(f.latest.GroupVersionKind())
	err := f.cluster.Get(ctx, client.ObjectKeyFromObject(f.latest), obj)
	if apierrors.IsNotFound(err) {
		return f.see(nil)
	}
	if err != nil {
		return false, finalOnly(err)
	}
	return f.take(watch.Modified, obj)
}

// finalOnly returns an error unchanged if a retry would fail in the same way, and nil otherwise.
func finalOnly(err error) error {
	if _, visited := errors.AsType[failedVisit](err); visited ||
		apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsMethodNotSupported(err) {
		return err
	}
	return nil
}

// retry calls attempt until it is done or fails. It waits between attempts with exponential back-off, which restarts
// after an attempt that made progress.
func retry(ctx context.Context, attempt func() (done, progress bool, err error)) error {
	initial := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 6, Cap: 5 * time.Second}
	backoff := initial
	for {
		done, progress, err := attempt()
		if done || err != nil {
			return err
		}
		if progress {
			backoff = initial
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(backoff.Step()):
		}
	}
}

// resourceVersion is an option of a watch: the watch begins after this resource version.
type resourceVersion string

// ApplyToList implements client.ListOption.
func (v resourceVersion) ApplyToList(options *client.ListOptions) {
	if options.Raw == nil {
		options.Raw = &metav1.ListOptions{}
	}
	options.Raw.ResourceVersion = string(v)
}
