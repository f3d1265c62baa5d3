package notification

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

const (
	// maxMessageBytes is the maximum size of the text of an Event.
	maxMessageBytes = 4 << 10
	// maxAnnotationBytes is the maximum size of the annotations of a component that are sent with an Event.
	maxAnnotationBytes = 8 << 10
)

// The keys of metadata besides those of package eventv1.
const (
	metaSourceDigest  = "sourceDigest"
	metaSourceVersion = "sourceVersion"
)

// component is an object with the status of a component.
type component interface {
	client.Object
	GetStatus() *metav1alpha1.Status
}

// text is what an Event says.
type text struct {
	kind, reason, action, note string
}

// newMessage returns the message about a component. dependent is nil, or the dependent of the component that the Event
// is about. An Alert of the receiver selects components by their kind, so the object of each message is the component.
func newMessage(
	c component, kind schema.GroupVersionKind, dependent client.Object, t text, now time.Time,
) *eventv1.Event {
	message := &eventv1.Event{
		InvolvedObject: referenceTo(c, kind),
		Severity:       eventv1.EventSeverityInfo,
		Timestamp:      metav1.NewTime(now),
		Reason:         t.reason,
		Action:         t.action,
		Metadata:       metadataOf(c, kind.Group),
	}
	if t.kind == corev1.EventTypeWarning {
		message.Severity = eventv1.EventSeverityError
	}
	if dependent != nil {
		related := referenceTo(dependent, dependent.GetObjectKind().GroupVersionKind())
		message.RelatedObject = &related
		name := strings.TrimPrefix(related.Namespace+"/"+related.Name, "/")
		t.note = fmt.Sprintf("%s %s: %s", related.Kind, name, t.note)
	}
	message.Message = shortened(t.note)
	return message
}

func referenceTo(obj client.Object, kind schema.GroupVersionKind) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: kind.GroupVersion().String(), Kind: kind.Kind,
		Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(),
	}
}

// metadataOf returns the metadata of a message about a component. The receiver uses only keys with the group of the
// component or with its own group. It takes two messages with equal texts, revisions and tokens for one.
//
// The token is the resource version, which changes with each write of the status: a component that becomes Ready, fails
// and becomes Ready again within minutes has three messages. The receiver does not pass the token on.
func metadataOf(c component, group string) map[string]string {
	metadata, status := annotationsOf(c), c.GetStatus()
	set := func(key, value string) {
		if value != "" {
			metadata[group+"/"+key] = value
		}
	}
	set(eventv1.MetaTokenKey, c.GetResourceVersion())
	if status.Revision == 0 {
		return metadata
	}
	set(eventv1.MetaRevisionKey, strconv.FormatInt(status.Revision, 10))
	for _, record := range status.History {
		if record.Revision == status.Revision {
			set(metaSourceDigest, record.SourceDigest)
			set(metaSourceVersion, record.SourceVersion)
			break
		}
	}
	return metadata
}

// annotationsOf returns the annotations that are written for the receiver, such as event.toolkit.fluxcd.io/commit.
// Annotations that do not fit into the maximum size are left out.
func annotationsOf(c component) map[string]string {
	found, annotations, size := map[string]string{}, c.GetAnnotations(), 0
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		value := annotations[key]
		if strings.HasPrefix(key, eventv1.Group+"/") && size+len(key)+len(value) <= maxAnnotationBytes {
			found[key] = value
			size += len(key) + len(value)
		}
	}
	return found
}

// shortened returns a text with at most maxMessageBytes.
func shortened(note string) string {
	if len(note) > maxMessageBytes {
		note = note[:maxMessageBytes-len(" …")] + " …"
	}
	return strings.ToValidUTF8(note, "")
}
