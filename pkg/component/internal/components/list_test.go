package components

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
)

func TestComponentsAreListed(t *testing.T) {
	g := NewWithT(t)
	other := types.NamespacedName{Namespace: "other", Name: "app"}
	c := newCluster(t, newGadget(), newGadget(func(g *gadget) { g.Namespace = other.Namespace }))
	g.Expect(c.store.ListLive(t.Context(), "")).To(ConsistOf(app, other))
	g.Expect(c.store.ListLive(t.Context(), "shop")).To(ConsistOf(app))
	g.Expect(c.store.ListCached(t.Context())).To(ConsistOf(
		HaveField("GetNamespace()", "shop"), HaveField("GetNamespace()", "other"),
	))
	c.store.options.GVK.Kind = "Unlisted"
	g.Expect(c.store.ListCached(t.Context())).To(BeEmpty(),
		"the scheme has no list type for components, so ListCached must return no component")
}
