package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
)

// Follow shows the logs of existing and new pods until the context ends. The end of the context is not an error. At
// most limit logs are read at the same time.
func (p *Pods) Follow(ctx context.Context, o Options, limit int, out io.Writer, warn func(error)) error {
	w := &podWatch{
		Pods: p, options: o, warn: warn, follower: NewFollower(p.cluster, o, limit, out, warn),
		unlisted: len(p.namespaces), containers: map[string]bool{},
	}
	group, watching := errgroup.WithContext(ctx)
	for _, namespace := range p.namespaces {
		group.Go(func() error { return w.watch(watching, namespace) })
	}
	err := group.Wait()
	w.follower.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// podWatch watches pods, and follows their logs.
type podWatch struct {
	*Pods
	options  Options
	warn     func(error)
	follower *Follower

	mu sync.Mutex
	// unlisted is the number of namespaces whose pods were not listed yet.
	unlisted int
	// containers contains the names of the containers of all pods that this podWatch has seen.
	containers map[string]bool
}

// watch follows the logs of the pods of a namespace.
func (w *podWatch) watch(ctx context.Context, namespace string) error {
	var list corev1.PodList
	listed := false
	add := func(pod *corev1.Pod) error {
		belongs, err := w.belongs(ctx, pod)
		if err == nil && belongs {
			w.note(pod)
			err = w.follower.Add(ctx, Logged(pod, w.options), listed)
		}
		if errors.Is(err, ErrTooMany) {
			err = exit.Refuse("%w; name a dependent, or raise --max-log-requests", err)
		}
		return err
	}
	return w.cluster.Watch(ctx, &list, w.selection(namespace),
		func() error {
			for i := range list.Items {
				if err := add(&list.Items[i]); err != nil {
					return err
				}
			}
			if list.Continue == "" && !listed {
				listed = true
				w.checkListed()
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

func (w *podWatch) note(pod *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range Containers(pod) {
		w.containers[name] = true
	}
}

// checkListed is called after the pods of a namespace were listed. After the last namespace, it warns if no pod has the
// container in the options. This is not an error, because a later pod may have the container.
func (w *podWatch) checkListed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unlisted--; w.unlisted > 0 {
		return
	}
	if err := w.options.checkContainer(w.containers); err != nil {
		w.warn(fmt.Errorf("%w; waiting for such a pod", err))
	}
}
