package cluster

import (
	"context"
	"errors"
	"io"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Selection restricts a list or a watch to some objects.
type Selection struct {
	// Namespace is the namespace of the objects, or empty for all namespaces.
	Namespace string
	Options   []client.ListOption
}

func (s Selection) options(more ...client.ListOption) []client.ListOption {
	return append(append([]client.ListOption{client.InNamespace(s.Namespace)}, s.Options...), more...)
}

// Pages reads a list in pages, and calls visit after each page. During the call, list contains the items of this page.
func (c *Cluster) Pages(ctx context.Context, list client.ObjectList, s Selection, visit func() error) error {
	token := ""
	for {
		// Otherwise fields of the previous page would remain in the list.
		reflect.ValueOf(list).Elem().SetZero()
		if err := c.Client.List(ctx, list, s.options(client.Limit(pageSize), client.Continue(token))...); err != nil {
			return err
		}
		if err := visit(); err != nil {
			return failedVisit{err}
		}
		if token = list.GetContinue(); token == "" {
			return nil
		}
	}
}

// Watch reads a list like Pages, and then calls changed for each object that is created or changed, until the context
// ends. Then it returns the context's error. After an interrupted watch, it begins again with the list. It returns an
// error if the first list fails, or if the person lacks the right to list or watch.
func (c *Cluster) Watch(
	ctx context.Context, list client.ObjectList, s Selection, visit func() error, changed func(client.Object) error,
) error {
	listed := false
	return retry(ctx, func() (done, progress bool, err error) {
		err = c.Pages(ctx, list, s, visit)
		if err != nil && !listed {
			return false, false, err
		}
		listed = true
		if err == nil {
			progress, err = c.watchOnce(ctx, list, s, changed)
		}
		return false, progress, finalOnly(err)
	})
}

// failedVisit wraps an error of the function visit or changed, because such an error ends a watch.
type failedVisit struct{ error }

// Unwrap returns the wrapped error.
func (f failedVisit) Unwrap() error { return f.error }

// watchOnce watches from the resource version of a list until the connection ends. Heard reports whether there were
// events.
func (c *Cluster) watchOnce(
	ctx context.Context, list client.ObjectList, s Selection, changed func(client.Object) error,
) (heard bool, err error) {
	watcher, err := c.watcher.Watch(ctx, list, s.options(resourceVersion(list.GetResourceVersion()))...)
	if err != nil {
		return false, err
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		obj, ok := event.Object.(client.Object)
		if event.Type == watch.Error || !ok {
			return heard, nil
		}
		heard = true
		if event.Type != watch.Added && event.Type != watch.Modified {
			continue
		}
		if err := changed(obj); err != nil {
			return heard, failedVisit{err}
		}
	}
	return heard, nil
}

// Log opens the log of a container, without a request timeout.
func (c *Cluster) Log(
	ctx context.Context, namespace, pod string, options *corev1.PodLogOptions,
) (io.ReadCloser, error) {
	log, err := c.pods.Pods(namespace).GetLogs(pod, options).Stream(ctx)
	return log, withoutGap(err)
}

// withoutGap removes a needless space from a message of client-go. The message has a place for the verb of a request,
// and the request for a log has no verb.
func withoutGap(err error) error {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return err
	}
	told := *status
	told.ErrStatus.Message = strings.ReplaceAll(told.ErrStatus.Message, "( ", "(")
	return &told
}
