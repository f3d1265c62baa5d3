package notification

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
	eventv1beta1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

var (
	kindOfComponents = v1alpha1.GroupVersion.WithKind("Component")
	now              = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
)

// shop returns a component at its third revision.
func shop() *v1alpha1.Component {
	c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{
		Namespace: "apps", Name: "shop", UID: "4711", ResourceVersion: "99",
		Annotations: map[string]string{"event.toolkit.fluxcd.io/commit": "sha1:abc", "example.com/secret": "hidden"},
	}}
	c.Status.Revision = 3
	c.Status.History = []metav1alpha1.RevisionRecord{
		{SourceDigest: "sha256:broken"},
		{Revision: 3, SourceDigest: "sha256:three", SourceVersion: "shop-1.3.0"},
		{Revision: 2, SourceDigest: "sha256:two", SourceVersion: "shop-1.2.0"},
	}
	return c
}

func TestMessages(t *testing.T) {
	involved := corev1.ObjectReference{
		APIVersion: "fairlead.io/v1alpha1", Kind: "Component", Namespace: "apps", Name: "shop", UID: "4711",
	}
	metadata := map[string]string{
		"event.toolkit.fluxcd.io/commit": "sha1:abc", "fairlead.io/token": "99", "fairlead.io/revision": "3",
		"fairlead.io/sourceDigest": "sha256:three", "fairlead.io/sourceVersion": "shop-1.3.0",
	}
	deployment := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "front", UID: "8"}}
	deployment.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	role := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}
	role.SetGroupVersionKind(schema.GroupVersionKind{
		Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole",
	})
	for _, c := range []struct {
		name      string
		change    func(*v1alpha1.Component)
		dependent client.Object
		text      text
		want      eventv1.Event
	}{
		{
			name: "an Event of type Normal is information",
			text: text{kind: corev1.EventTypeNormal, reason: "Ready", action: "Reconcile", note: "1 dependent is ready"},
			want: eventv1.Event{
				InvolvedObject: involved, Severity: "info", Timestamp: metav1.NewTime(now), Message: "1 dependent is ready",
				Reason: "Ready", Action: "Reconcile", Metadata: metadata,
			},
		},
		{
			name: "an Event of type Warning is an error",
			text: text{kind: corev1.EventTypeWarning, reason: "Forbidden", action: "Reconcile", note: "a right is missing"},
			want: eventv1.Event{
				InvolvedObject: involved, Severity: "error", Timestamp: metav1.NewTime(now), Message: "a right is missing",
				Reason: "Forbidden", Action: "Reconcile", Metadata: metadata,
			},
		},
		{
			name:      "an Event about a dependent is about the component, and names the dependent",
			dependent: deployment,
			text:      text{kind: corev1.EventTypeNormal, reason: "Repaired", action: "Reconcile", note: "Drifted"},
			want: eventv1.Event{
				InvolvedObject: involved, Severity: "info", Timestamp: metav1.NewTime(now),
				RelatedObject: &corev1.ObjectReference{
					APIVersion: "apps/v1", Kind: "Deployment", Namespace: "web", Name: "front", UID: "8",
				},
				Message: "Deployment web/front: Drifted", Reason: "Repaired", Action: "Reconcile", Metadata: metadata,
			},
		},
		{
			name:      "a dependent without a namespace",
			dependent: role,
			text:      text{kind: corev1.EventTypeNormal, reason: "Adopted", note: "FromNobody"},
			want: eventv1.Event{
				InvolvedObject: involved, Severity: "info", Timestamp: metav1.NewTime(now),
				RelatedObject: &corev1.ObjectReference{
					APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "reader",
				},
				Message: "ClusterRole reader: FromNobody", Reason: "Adopted", Metadata: metadata,
			},
		},
		{
			name: "before the first revision there is none",
			change: func(c *v1alpha1.Component) {
				c.Status.Revision, c.Status.History = 0, []metav1alpha1.RevisionRecord{{SourceDigest: "sha256:broken"}}
			},
			text: text{kind: corev1.EventTypeWarning, reason: "RenderFailed", note: "x"},
			want: eventv1.Event{
				InvolvedObject: involved, Severity: "error", Timestamp: metav1.NewTime(now), Message: "x",
				Reason:   "RenderFailed",
				Metadata: map[string]string{"event.toolkit.fluxcd.io/commit": "sha1:abc", "fairlead.io/token": "99"},
			},
		},
		{
			name: "without annotations and without a source",
			change: func(c *v1alpha1.Component) {
				c.Annotations, c.Status.History = nil, []metav1alpha1.RevisionRecord{{Revision: 3}}
			},
			text: text{kind: corev1.EventTypeNormal, reason: "Ready", note: "x"},
			want: eventv1.Event{
				InvolvedObject: involved, Severity: "info", Timestamp: metav1.NewTime(now), Message: "x", Reason: "Ready",
				Metadata: map[string]string{"fairlead.io/token": "99", "fairlead.io/revision": "3"},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			component := shop()
			if c.change != nil {
				c.change(component)
			}
			got := newMessage(component, kindOfComponents, c.dependent, c.text, now)
			if diff := cmp.Diff(c.want, *got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The receiver decodes the older version of the type, which has no action and no related object.
func TestAReceiverOfTheOlderVersionDecodesMessages(t *testing.T) {
	sent := newMessage(shop(), kindOfComponents, &metav1.PartialObjectMetadata{}, text{
		kind: corev1.EventTypeWarning, reason: "Failed", action: "Reconcile", note: "x",
	}, now)
	body, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	var got eventv1beta1.Event
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	revision, found := got.Metadata["fairlead.io/"+eventv1beta1.MetaRevisionKey]
	if got.InvolvedObject.Kind != "Component" || got.Severity != eventv1beta1.EventSeverityError ||
		got.Reason != "Failed" || !got.Timestamp.Time.Equal(now) || !found || revision != "3" {
		t.Errorf("got %+v", got)
	}
}

func TestTheSizeOfAMessageIsLimited(t *testing.T) {
	c := shop()
	for _, key := range []string{"a", "b", "c", "d"} {
		c.Annotations["event.toolkit.fluxcd.io/"+key] = strings.Repeat(key, maxAnnotationBytes/3)
	}
	got := newMessage(c, kindOfComponents, nil, text{note: "x" + strings.Repeat("ä", maxMessageBytes)}, now)
	size := len(got.Message)
	if size > maxMessageBytes || size < maxMessageBytes-8 || !strings.HasSuffix(got.Message, "ä …") {
		t.Errorf("a text of %d bytes ends with %q", size, got.Message[size-8:])
	}
	var kept []string
	for _, key := range []string{"a", "b", "c", "commit", "d"} {
		if got.Metadata["event.toolkit.fluxcd.io/"+key] != "" {
			kept = append(kept, key)
		}
	}
	if diff := cmp.Diff([]string{"a", "b", "commit"}, kept); diff != "" {
		t.Error(diff)
	}
}
