package e2e_test

import (
	"context"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// witness watches the ConfigMaps and Secrets of a namespace, so that a spec can act at a certain progress of an
// operator.
type witness struct {
	events chan watch.Event
	// seen maps the UID of each live dependent to the digest of its manifest in the first event.
	seen map[types.UID]string
	// created and deleted count dependents, each dependent once.
	created, deleted int
	updated          map[types.UID]bool
	// component is the last received version of the component.
	component *v1alpha1.Component
}

func newWitness(ctx context.Context, namespace string) *witness {
	GinkgoHelper()
	w := &witness{
		events: make(chan watch.Event), seen: map[types.UID]string{}, updated: map[types.UID]bool{},
		component: &v1alpha1.Component{},
	}
	for _, list := range []client.ObjectList{&v1alpha1.ComponentList{}, &corev1.ConfigMapList{}, &corev1.SecretList{}} {
		watcher, err := admin.Watch(ctx, list, client.InNamespace(namespace))
		Expect(err).NotTo(HaveOccurred())
		go func() {
			for event := range watcher.ResultChan() {
				select {
				case w.events <- event:
				case <-ctx.Done():
				}
			}
		}()
		DeferCleanup(watcher.Stop)
	}
	return w
}

// until waits until reached returns true.
func (w *witness) until(ctx context.Context, reached func(*witness) bool) {
	GinkgoHelper()
	for !reached(w) {
		select {
		case event := <-w.events:
			w.note(event)
		case <-ctx.Done():
			Fail("the operator did not make the awaited requests in time")
		}
	}
}

func (w *witness) note(event watch.Event) {
	switch o := event.Object.(type) {
	case *v1alpha1.Component:
		w.component = o
	case client.Object:
		digest := o.GetAnnotations()[reconciler+"/"+marks.AnnotationDigest]
		first, known := w.seen[o.GetUID()]
		switch {
		case event.Type == watch.Deleted:
			delete(w.seen, o.GetUID())
			w.deleted++
		case !known:
			w.seen[o.GetUID()] = digest
			w.created++
		case digest != first:
			w.updated[o.GetUID()] = true
		}
	}
}

// dependents returns the live objects with the owner label of a component, as kind, name and UID.
func dependents(ctx context.Context, c *v1alpha1.Component) []string {
	GinkgoHelper()
	owner := client.MatchingLabels{reconciler + "/" + manifests.LabelOwnerID: ownerOf(ctx, c).ID()}
	found := map[string]bool{}
	for _, kind := range []string{"ConfigMap", "Secret"} {
		list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind + "List"}}
		Expect(admin.List(ctx, list, owner)).To(Succeed())
		for _, item := range list.Items {
			found[kind+" "+item.Namespace+"/"+item.Name+" "+string(item.UID)] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func ownerOf(ctx context.Context, c *v1alpha1.Component) manifests.Owner {
	GinkgoHelper()
	system := &corev1.Namespace{}
	Expect(admin.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system)).To(Succeed())
	return manifests.Owner{
		Cluster: string(system.UID), Reconciler: reconciler,
		Group: v1alpha1.GroupVersion.Group, Kind: "Component", Namespace: c.Namespace, Name: c.Name,
	}
}
