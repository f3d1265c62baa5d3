package publish_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/publish"
)

// These specs use a fake client to test writes of other clients at the same time. The specs of the command fairlead
// apply run on a real API server.

// scene is a fake cluster in which other clients write at chosen moments.
type scene struct {
	client.WithWatch
	done     []string
	warnings []error
}

// newScene returns a scene. The interceptor functions get the underlying client, so that they can write as another
// client.
func newScene(funcs interceptor.Funcs, objects ...client.Object) *scene {
	GinkgoHelper()
	scheme := runtime.NewScheme()
	Expect(corev1.AddToScheme(scheme)).To(Succeed())
	Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	return &scene{WithWatch: interceptor.NewClient(c, funcs)}
}

func target(name string) cluster.Target {
	gvk := v1alpha1.GroupVersion.WithKind("Component")
	resource := v1alpha1.GroupVersion.WithResource("components")
	mapping := &meta.RESTMapping{Resource: resource, GroupVersionKind: gvk, Scope: meta.RESTScopeNamespace}
	return cluster.Target{Mapping: mapping, Namespace: "apps", Name: name}
}

// folder returns the archive of a folder with one file. Each call returns the same archive.
func folder() publish.Archive {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	write(dir, "web.yaml", []byte("kind: Pod"))
	archive, err := publish.Pack(dir)
	Expect(err).NotTo(HaveOccurred())
	return archive
}

// publish publishes the folder as the component "shop".
func (s *scene) publish(ctx context.Context) (*unstructured.Unstructured, error) {
	GinkgoHelper()
	p := publish.Publisher{
		Client: s, Done: func(what string) { s.done = append(s.done, what) },
		Warn: func(err error) { s.warnings = append(s.warnings, err) },
	}
	return p.Publish(ctx, publish.Request{Target: target("shop"), Archive: folder(), Fields: map[string]any{"path": "x"}})
}

// nameOf returns the name of the source ConfigMap of an archive.
func nameOf(archive publish.Archive) string { return "shop-" + archive.Digest[:12] }

func shop() *v1alpha1.Component {
	return &v1alpha1.Component{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "shop", UID: "1"},
		Spec:       v1alpha1.ComponentSpec{Source: v1alpha1.Source{Inline: &v1alpha1.InlineSource{Files: map[string]string{"a": "b"}}}},
	}
}

// sourceMap returns a ConfigMap with the labels of a source of the component "shop", and with an owner if owner is not
// empty.
func sourceMap(name string, owner types.UID, age time.Duration) *corev1.ConfigMap {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "apps", Name: name, CreationTimestamp: metav1.NewTime(time.Now().Add(-age).Truncate(time.Second)),
		Labels: map[string]string{publish.LabelSourceOf: "shop", "app.kubernetes.io/managed-by": "fairlead-cli"},
	}}
	if owner != "" {
		obj.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "fairlead.io/v1alpha1", Kind: "Component", Name: "shop",
			UID: owner,
		}}
	}
	return obj
}

func (s *scene) sources(ctx context.Context) []string {
	GinkgoHelper()
	list := &corev1.ConfigMapList{}
	Expect(s.List(ctx, list, client.InNamespace("apps"))).To(Succeed())
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	return names
}

// sourceOf returns the name of the source that an object refers to.
func sourceOf(obj *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(obj.Object, "spec", "source", "configMap", "name")
	return name
}

var _ = Describe("a field in a map of the spec", func() {
	It("is set beside the other fields of the map, and removed with an empty map", func(ctx SpecContext) {
		existing := shop()
		existing.Spec.Helm = &v1alpha1.HelmOptions{SkipCRDs: true}
		s := newScene(interceptor.Funcs{}, existing)
		set := func(fields map[string]any) *v1alpha1.HelmOptions {
			GinkgoHelper()
			p := publish.Publisher{Client: s, Done: func(string) {}, Warn: func(error) {}}
			_, err := p.Publish(ctx, publish.Request{Target: target("shop"), Archive: folder(), Fields: fields})
			Expect(err).NotTo(HaveOccurred())
			after := &v1alpha1.Component{}
			Expect(s.Get(ctx, client.ObjectKeyFromObject(existing), after)).To(Succeed())
			return after.Spec.Helm
		}
		Expect(set(map[string]any{"helm.skipSchema": true})).
			To(Equal(&v1alpha1.HelmOptions{SkipCRDs: true, SkipSchema: true}))
		Expect(set(map[string]any{"helm.skipSchema": nil})).To(Equal(&v1alpha1.HelmOptions{SkipCRDs: true}))
		Expect(set(map[string]any{"helm.skipCRDs": nil})).To(BeNil())
		Expect(set(map[string]any{"helm.skipSchema": true})).To(Equal(&v1alpha1.HelmOptions{SkipSchema: true}))
	})
})

var _ = Describe("Publish", func() {
	It("repeats a conflicting update, and keeps the change of the other client", func(ctx SpecContext) {
		writes := 0
		s := newScene(interceptor.Funcs{Update: func(ctx context.Context, c client.WithWatch, obj client.Object,
			o ...client.UpdateOption,
		) error {
			if writes++; writes == 1 {
				other := &v1alpha1.Component{}
				Expect(c.Get(ctx, client.ObjectKeyFromObject(obj), other)).To(Succeed())
				other.Spec.Suspend = true
				Expect(c.Update(ctx, other)).To(Succeed())
			}
			return c.Update(ctx, obj, o...)
		}}, shop())
		obj, err := s.publish(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(writes).To(Equal(2))
		Expect(obj.Object["spec"]).To(And(HaveKeyWithValue("suspend", true), HaveKeyWithValue("path", "x")))
		Expect(sourceOf(obj)).To(Equal(nameOf(folder())))
	})

	It("updates the component if another client creates it at the same time", func(ctx SpecContext) {
		s := newScene(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object,
			o ...client.CreateOption,
		) error {
			if obj.GetName() == "shop" {
				Expect(c.Create(ctx, shop())).To(Succeed())
			}
			return c.Create(ctx, obj, o...)
		}})
		_, err := s.publish(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.done).To(Equal([]string{"configmap/" + nameOf(folder()) + " created", "component.fairlead.io/shop updated"}))
	})

	It("refuses to update a component that another client creates after the plan", func(ctx SpecContext) {
		s := newScene(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object,
			o ...client.CreateOption,
		) error {
			if obj.GetName() == "shop" {
				Expect(c.Create(ctx, shop())).To(Succeed())
			}
			return c.Create(ctx, obj, o...)
		}})
		p := publish.Publisher{
			Client: s, Done: func(string) {}, Warn: func(err error) { Fail(fmt.Sprint(err)) },
			Check: func(*unstructured.Unstructured, []*corev1.ConfigMap) ([]metav1alpha1.AdoptRule, error) {
				return nil, nil
			},
		}
		_, err := p.Publish(ctx, publish.Request{Target: target("shop"), Archive: folder()})
		Expect(exit.CodeOf(err)).To(Equal(exit.No))
		Expect(err).To(MatchError(ContainSubstring("was created by another client after it was checked")))
		Expect(s.sources(ctx)).To(BeEmpty())
		after := &v1alpha1.Component{}
		Expect(s.Get(ctx, client.ObjectKey{Namespace: "apps", Name: "shop"}, after)).To(Succeed())
		Expect(after.Spec).To(Equal(shop().Spec))
	})

	It("deletes only a ConfigMap that it created, if the component is refused", func(ctx SpecContext) {
		failure := error(apierrors.NewInternalError(errors.New("the result is unknown")))
		s := newScene(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object,
			o ...client.CreateOption,
		) error {
			if obj.GetName() == "shop" {
				return failure
			}
			return c.Create(ctx, obj, o...)
		}})
		_, err := s.publish(ctx)
		Expect(err).To(MatchError(failure))
		Expect(s.sources(ctx)).To(ConsistOf(nameOf(folder())))

		failure = apierrors.NewForbidden(schema.GroupResource{Resource: "components"}, "shop", errors.New("exceeded quota"))
		_, err = s.publish(ctx)
		Expect(err).To(MatchError(failure))
		Expect(s.sources(ctx)).To(ConsistOf(nameOf(folder())), "another component may name the ConfigMap of the earlier run")

		Expect(s.Delete(ctx, sourceMap(nameOf(folder()), "", 0))).To(Succeed())
		_, err = s.publish(ctx)
		Expect(err).To(MatchError(failure))
		Expect(s.sources(ctx)).To(BeEmpty())
	})

	It("gives up if another client changes the component before each attempt", func(ctx SpecContext) {
		s := newScene(interceptor.Funcs{Update: func(ctx context.Context, c client.WithWatch, obj client.Object,
			o ...client.UpdateOption,
		) error {
			other := &v1alpha1.Component{}
			Expect(c.Get(ctx, client.ObjectKeyFromObject(obj), other)).To(Succeed())
			other.Spec.Suspend = !other.Spec.Suspend
			Expect(c.Update(ctx, other)).To(Succeed())
			return c.Update(ctx, obj, o...)
		}}, shop())
		_, err := s.publish(ctx)
		Expect(exit.CodeOf(err)).To(Equal(exit.No))
		Expect(err).To(MatchError(ContainSubstring("by other clients continuously")))
	})

	It("refuses an existing ConfigMap of the same name with other content, and writes nothing", func(ctx SpecContext) {
		s := newScene(interceptor.Funcs{}, sourceMap(nameOf(folder()), "", 0))
		_, err := s.publish(ctx)
		Expect(exit.CodeOf(err)).To(Equal(exit.No))
		Expect(err).
			To(MatchError(ContainSubstring("has content that does not match its name; make sure that no other " +
				"component names it")))
		Expect(s.Get(ctx, client.ObjectKeyFromObject(shop()), shop())).NotTo(Succeed())
	})

	It("deletes old sources except for the previous one, young ones without an owner, and copies", func(ctx SpecContext) {
		const inFlight, leftBehind, younger, older = "shop-111111111111", "shop-222222222222", "shop-333333333333",
			"shop-444444444444"
		s := newScene(interceptor.Funcs{}, shop(),
			sourceMap(inFlight, "", time.Minute), sourceMap(leftBehind, "", 2*time.Hour),
			sourceMap(younger, "1", time.Hour), sourceMap(older, "1", 3*time.Hour), sourceMap("shop-copy", "1", 3*time.Hour))
		_, err := s.publish(ctx)
		Expect(err).NotTo(HaveOccurred())
		now := &corev1.ConfigMap{}
		Expect(s.Get(ctx, types.NamespacedName{Namespace: "apps", Name: nameOf(folder())}, now)).To(Succeed())
		now.CreationTimestamp = metav1.Now()
		Expect(s.Update(ctx, now)).To(Succeed())
		_, err = s.publish(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.sources(ctx)).To(ConsistOf(nameOf(folder()), inFlight, younger, "shop-copy"))
	})

	It("creates its source again if another client deletes it as an old source", func(ctx SpecContext) {
		s := newScene(interceptor.Funcs{Update: func(ctx context.Context, c client.WithWatch, obj client.Object,
			o ...client.UpdateOption,
		) error {
			if obj.GetName() == "shop" {
				source := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: nameOf(folder())}}
				Expect(c.Delete(ctx, source)).To(Succeed())
			}
			return c.Update(ctx, obj, o...)
		}}, shop())
		_, err := s.publish(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.warnings).To(BeEmpty())
		Expect(s.sources(ctx)).To(Equal([]string{nameOf(folder())}))
	})

	It("only warns if old sources cannot be deleted", func(ctx SpecContext) {
		s := newScene(interceptor.Funcs{Delete: func(context.Context, client.WithWatch, client.Object,
			...client.DeleteOption,
		) error {
			return errors.New("no")
		}}, shop(), sourceMap("shop-aaaaaaaaaaaa", "1", time.Hour), sourceMap("shop-bbbbbbbbbbbb", "1", 2*time.Hour))
		_, err := s.publish(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.warnings).To(HaveExactElements(MatchError("sources of component.fairlead.io/shop: no")))
	})

	It("shortens the names and labels of sources of components with long names", func(ctx SpecContext) {
		long := strings.Repeat("a", 250)
		s := newScene(interceptor.Funcs{})
		p := publish.Publisher{Client: s, Done: func(string) {}, Warn: func(err error) { Fail(fmt.Sprint(err)) }}
		for _, name := range []string{long, long + "b"} {
			_, err := p.Publish(ctx, publish.Request{Target: target(name), Archive: folder()})
			Expect(err).NotTo(HaveOccurred())
		}
		list := &corev1.ConfigMapList{}
		Expect(s.List(ctx, list)).To(Succeed())
		Expect(list.Items).To(HaveLen(2))
		for _, item := range list.Items {
			Expect(len(item.Name)).To(BeNumerically("<=", 253))
			Expect(len(item.Labels[publish.LabelSourceOf])).To(BeNumerically("<=", 63))
		}
	})
})

var _ = Describe("The list of adoptions of a component", func() {
	DescribeTable("is", func(ctx SpecContext, before *v1alpha1.Component, entries, want []metav1alpha1.AdoptRule) {
		s := newScene(interceptor.Funcs{})
		if before != nil {
			Expect(s.Create(ctx, before)).To(Succeed())
		}
		p := publish.Publisher{
			Client: s, Done: func(string) {}, Warn: func(err error) { Fail(fmt.Sprint(err)) },
			Check: func(*unstructured.Unstructured, []*corev1.ConfigMap) ([]metav1alpha1.AdoptRule, error) {
				return entries, nil
			},
		}
		_, err := p.Publish(ctx, publish.Request{Target: target("shop"), Archive: folder()})
		Expect(err).NotTo(HaveOccurred())
		after := &v1alpha1.Component{}
		Expect(s.Get(ctx, client.ObjectKey{Namespace: "apps", Name: "shop"}, after)).To(Succeed())
		if want == nil {
			Expect(after.Spec.Adopt).To(BeNil())
			return
		}
		Expect(after.Spec.Adopt).To(And(Equal(want), Not(BeNil())))
	},
		Entry("empty for a new component", nil, nil, []metav1alpha1.AdoptRule{}),
		Entry("the entries of the check for a new component", nil, []metav1alpha1.AdoptRule{named("a")},
			[]metav1alpha1.AdoptRule{named("a")}),
		Entry("absent as before", shop(), nil, nil),
		Entry("empty for a component without a list if the check says so", shop(), []metav1alpha1.AdoptRule{},
			[]metav1alpha1.AdoptRule{}),
		Entry("new for a component without a list", shop(), []metav1alpha1.AdoptRule{named("a")},
			[]metav1alpha1.AdoptRule{named("a")}),
		Entry("empty as before", listing(), nil, []metav1alpha1.AdoptRule{}),
		Entry("completed, each entry once", listing(named("a")), []metav1alpha1.AdoptRule{named("a"), named("b")},
			[]metav1alpha1.AdoptRule{named("a"), named("b")}),
		Entry("without the entry of an object that another one replaced",
			listing(withUID("a", "u1"), withUID("b", "u2"), named("a")),
			[]metav1alpha1.AdoptRule{withUID("a", "u3")}, []metav1alpha1.AdoptRule{
				withUID("b", "u2"), named("a"),
				withUID("a", "u3"),
			}),
		Entry("without the entry of an object of the default namespace that another one replaced",
			listing(metav1alpha1.AdoptRule{Kind: "ConfigMap", Name: "a", UID: "u1"}),
			[]metav1alpha1.AdoptRule{withUID("a", "u3")}, []metav1alpha1.AdoptRule{withUID("a", "u3")}),
		Entry("without the entries of objects that the component owns, whatever their UIDs are",
			owning(listing(withUID("a", "u1"), withUID("b", "u2")), "a"), nil, []metav1alpha1.AdoptRule{withUID("b", "u2")}),
		Entry("without the entries of objects that the component owns", owning(listing(named("a"), named("b"),
			metav1alpha1.AdoptRule{Kind: "ConfigMap", Name: "a"}, metav1alpha1.AdoptRule{Cluster: "c"}), "a"), nil,
			[]metav1alpha1.AdoptRule{named("b"), {Cluster: "c"}}),
		Entry("with an entry of the check for an object that the component owned", owning(listing(named("a")), "a"),
			[]metav1alpha1.AdoptRule{named("a")}, []metav1alpha1.AdoptRule{named("a")}),
		Entry("with the entry of an object that was not applied yet", unapplied(listing(named("a")), "a"), nil,
			[]metav1alpha1.AdoptRule{named("a")}),
	)

	It("stays as it is if nothing else changes", func(ctx SpecContext) {
		s := newScene(interceptor.Funcs{})
		p := publish.Publisher{Client: s, Done: func(string) {}, Warn: func(err error) { Fail(fmt.Sprint(err)) }}
		request := publish.Request{Target: target("shop"), Archive: folder()}
		Expect(s.Create(ctx, owning(listing(named("a")), "b"))).To(Succeed())
		_, err := p.Publish(ctx, request)
		Expect(err).NotTo(HaveOccurred())
		obj := &v1alpha1.Component{}
		Expect(s.Get(ctx, client.ObjectKey{Namespace: "apps", Name: "shop"}, obj)).To(Succeed())
		obj.Status = owning(shop(), "a").Status
		Expect(s.Update(ctx, obj)).To(Succeed())
		_, err = p.Publish(ctx, request)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.Get(ctx, client.ObjectKey{Namespace: "apps", Name: "shop"}, obj)).To(Succeed())
		Expect(obj.Spec.Adopt).To(HaveExactElements(named("a")))
	})

	It("is checked before the source is written", func(ctx SpecContext) {
		invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Component"}, "shop", nil)
		s := newScene(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object,
			o ...client.CreateOption,
		) error {
			if obj.GetName() == "shop" {
				return invalid
			}
			return c.Create(ctx, obj, o...)
		}})
		p := publish.Publisher{Client: s, Done: func(string) {}, Warn: func(err error) { Fail(fmt.Sprint(err)) }}
		_, err := p.Publish(ctx, publish.Request{
			Target: target("shop"), Archive: folder(), Adopt: []metav1alpha1.AdoptRule{named("a")},
		})
		Expect(err).To(MatchError(invalid))
		Expect(s.sources(ctx)).To(BeEmpty())
	})

	It("is said to be dropped if the definition in the cluster is older", func(ctx SpecContext) {
		s := newScene(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object,
			o ...client.CreateOption,
		) error {
			if component, ok := obj.(*unstructured.Unstructured); ok {
				unstructured.RemoveNestedField(component.Object, "spec", "adopt")
			}
			return c.Create(ctx, obj, o...)
		}})
		_, err := s.publish(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.warnings).To(ContainElement(MatchError(ContainSubstring("lacks spec.adopt,"))))
	})

	It("is said to lack UIDs if the definition in the cluster is older", func(ctx SpecContext) {
		s := newScene(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object,
			o ...client.CreateOption,
		) error {
			if component, ok := obj.(*unstructured.Unstructured); ok {
				list, _, _ := unstructured.NestedSlice(component.Object, "spec", "adopt")
				for _, entry := range list {
					if fields, ok := entry.(map[string]any); ok {
						delete(fields, "uid")
					}
				}
				_ = unstructured.SetNestedSlice(component.Object, list, "spec", "adopt")
			}
			return c.Create(ctx, obj, o...)
		}})
		for i, entry := range []metav1alpha1.AdoptRule{named("a"), withUID("a", "u1")} {
			var warnings []error
			p := publish.Publisher{
				Client: s, Done: func(string) {}, Warn: func(err error) { warnings = append(warnings, err) },
			}
			_, err := p.Publish(ctx, publish.Request{
				Target: target(fmt.Sprint("shop-", i)), Archive: folder(), Adopt: []metav1alpha1.AdoptRule{entry},
			})
			Expect(err).NotTo(HaveOccurred())
			if entry.UID == "" {
				Expect(warnings).To(BeEmpty())
				continue
			}
			Expect(warnings).To(ConsistOf(MatchError(ContainSubstring("lacks spec.adopt[].uid,"))))
		}
	})
})

// named returns the entry of a ConfigMap in a list of adoptions.
func named(name string) metav1alpha1.AdoptRule {
	return metav1alpha1.AdoptRule{Kind: "ConfigMap", Namespace: "apps", Name: name}
}

// withUID names an object, and permits only the one with a UID.
func withUID(name string, uid types.UID) metav1alpha1.AdoptRule {
	return metav1alpha1.AdoptRule{Kind: "ConfigMap", Namespace: "apps", Name: name, UID: uid}
}

// listing returns the component "shop" with a list of adoptions.
func listing(entries ...metav1alpha1.AdoptRule) *v1alpha1.Component {
	c := shop()
	c.Spec.Adopt = append([]metav1alpha1.AdoptRule{}, entries...)
	return c
}

// owning returns a component with the inventory entries of ConfigMaps.
func owning(c *v1alpha1.Component, names ...string) *v1alpha1.Component {
	for _, name := range names {
		e := metav1alpha1.InventoryEntry{
			Version: "v1", Kind: "ConfigMap", Namespace: "apps", Name: name,
			UID: "u-" + types.UID(name),
		}
		c.Status.Inventory = append(c.Status.Inventory, e.String())
	}
	return c
}

// unapplied returns a component with the inventory entry of a ConfigMap that is not applied yet.
func unapplied(c *v1alpha1.Component, name string) *v1alpha1.Component {
	e := metav1alpha1.InventoryEntry{Version: "v1", Kind: "ConfigMap", Namespace: "apps", Name: name}
	c.Status.Inventory = append(c.Status.Inventory, e.String())
	return c
}
