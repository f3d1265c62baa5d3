package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/logs"
)

// following shows the logs of pods that there are, and that come.
type following struct {
	*podLogs
	namespaces []string
	warn       func(error)

	mu sync.Mutex
	// unlisted is in how many namespaces nobody knows yet which pods there are; named are the containers of those that are known.
	unlisted int
	named    map[string]bool
}

func newFollowing(pods *podLogs, namespaces []string, warn func(error)) *following {
	return &following{podLogs: pods, namespaces: namespaces, warn: warn, unlisted: len(namespaces), named: map[string]bool{}}
}

// follow shows logs until the context ends.
func (f *following) follow(ctx context.Context, by *logs.Follower) error {
	group, watching := errgroup.WithContext(ctx)
	for _, namespace := range f.namespaces {
		group.Go(func() error { return f.in(watching, namespace, by) })
	}
	err := group.Wait()
	by.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// in shows the logs of the pods of a namespace.
func (f *following) in(ctx context.Context, namespace string, by *logs.Follower) error {
	var list corev1.PodList
	began := false
	add := func(pod *corev1.Pod) error {
		ours, err := f.ours(ctx, pod)
		if err == nil && ours {
			f.note(pod)
			err = by.Add(ctx, logs.Sources(pod, f.options.Options), began)
		}
		if errors.Is(err, logs.ErrTooMany) {
			err = exit.Refuse("%w; name a dependent, or raise --max-log-requests", err)
		}
		return err
	}
	return f.cluster.Watch(ctx, &list, f.selection(namespace),
		func() error {
			for i := range list.Items {
				if err := add(&list.Items[i]); err != nil {
					return err
				}
			}
			if list.Continue == "" && !began {
				began = true
				f.listed()
			}
			return nil
		},
		func(obj client.Object) error {
			if pod, ok := obj.(*corev1.Pod); ok {
				return add(pod)
			}
			return nil
		})
}

func (f *following) note(pod *corev1.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range logs.Containers(pod) {
		f.named[name] = true
	}
}

// listed tells, once the pods of all namespaces are known, that none has the container that is wanted. A pod that has may still come.
func (f *following) listed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unlisted--; f.unlisted > 0 {
		return
	}
	if err := f.options.missed(f.named); err != nil {
		f.warn(fmt.Errorf("%w; waiting for one", err))
	}
}
