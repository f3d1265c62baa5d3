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

// See is called with each state of a component that becomes known, and with nil once the component is gone. It returns true when that
// is enough.
type See func(*unstructured.Unstructured) (bool, error)

// Follow watches a component from the given state on, until see says that it is enough, or fails, or the context ends; then the
// context's error is returned. An interrupted connection is taken up again. Being refused to watch is an error.
func (c *Cluster) Follow(ctx context.Context, from *unstructured.Unstructured, see See) error {
	f := &follower{cluster: c, uid: from.GetUID(), latest: from, see: see}
	pause := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 6, Cap: 5 * time.Second}
	retry := pause
	done, err := see(from)
	for !done && err == nil {
		var heard bool
		if done, heard, err = f.watch(ctx); done || err != nil {
			break
		}
		if heard {
			retry = pause
		}
		if err = sleep(ctx, retry.Step()); err == nil {
			done, err = f.reread(ctx)
		}
	}
	return err
}

// follower is the place that a Follow has reached.
type follower struct {
	cluster *Cluster
	uid     types.UID
	latest  *unstructured.Unstructured
	see     See
}

// watch goes on from the latest state until the connection ends. It tells whether anything came.
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

// reread tells what happened while nobody watched.
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

// finalOnly drops errors that may go away by themselves.
func finalOnly(err error) error {
	if _, visited := errors.AsType[failedVisit](err); visited ||
		apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsMethodNotSupported(err) {
		return err
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// resourceVersion makes a watch begin after a version.
type resourceVersion string

// ApplyToList sets the version.
func (v resourceVersion) ApplyToList(options *client.ListOptions) {
	if options.Raw == nil {
		options.Raw = &metav1.ListOptions{}
	}
	options.Raw.ResourceVersion = string(v)
}
