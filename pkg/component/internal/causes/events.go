package causes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
)

const (
	// timeout bounds the time of a request. A cause is not worth a longer pass.
	timeout = 5 * time.Second
	// maxEvents bounds the Events of a list, and maxCause the text of a cause, in bytes.
	maxEvents = 100
	maxCause  = 400
)

var events = corev1.SchemeGroupVersion.WithResource("events")

// Events reads Events, and what holds objects, as the identity of a component.
type Events struct{}

// CauseOf returns the latest warning about an object, such as "FailedCreate: error creating pods: ...". For an object
// that is being deleted, it returns what holds the object, if that is known. It returns an empty text if there is
// nothing, or if it cannot be read.
func (Events) CauseOf(ctx context.Context, client *target.Client, o Object) string {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if !o.Deleting {
		return causeOf(ctx, client.Dynamic, o)
	}
	if held := holderOf(ctx, client.Dynamic, o); held != "" {
		return passerror.Truncate(held, maxCause)
	}
	return causeOf(ctx, client.Dynamic, o)
}

func causeOf(ctx context.Context, client dynamic.Interface, o Object) string {
	namespace := cmp.Or(o.Key.Namespace, metav1.NamespaceDefault)
	list, err := client.Resource(events).Namespace(namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.Set{"involvedObject.uid": string(o.UID), "type": corev1.EventTypeWarning}.String(),
		Limit:         maxEvents,
	})
	if err != nil {
		return ""
	}
	warnings := make([]corev1.Event, 0, len(list.Items))
	for _, item := range list.Items {
		var event corev1.Event
		if runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &event) == nil {
			warnings = append(warnings, event)
		}
	}
	return latest(warnings)
}

// latest returns the reason and the message of the latest Event, in one line.
func latest(warnings []corev1.Event) string {
	if len(warnings) == 0 {
		return ""
	}
	e := slices.MaxFunc(warnings, func(a, b corev1.Event) int {
		return cmp.Or(
			timeOf(a).Compare(timeOf(b)),
			strings.Compare(a.Reason, b.Reason),
			strings.Compare(a.Message, b.Message),
		)
	})
	text := fmt.Sprintf("%s: %s", e.Reason, strings.Join(strings.Fields(e.Message), " "))
	return passerror.Truncate(strings.TrimSuffix(text, ": "), maxCause)
}

func timeOf(e corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}
