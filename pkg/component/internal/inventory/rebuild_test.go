package inventory

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var partOwner = manifests.Owner{
	Cluster: "c", Reconciler: reconciler, Group: partGVK.Group, Kind: partGVK.Kind, Namespace: "target", Name: "app",
}

func TestAnInventoryWithoutAStatusIsRebuilt(t *testing.T) {
	g := NewWithT(t)
	three := entries(3)
	copied, replaced := three[2], three[1]
	copied.Name, replaced.UID = "copy", "new"
	searching := everything(three[0])
	searching.report[0].unproven = []metav1alpha1.InventoryEntry{copied, replaced}
	elsewhere := three[2]
	elsewhere.Namespace = "elsewhere"
	rebuilt, err := searching.recovery().Rebuild(t.Context(), partOwner, append(three[1:], elsewhere), false)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(searching.namespaces).To(Equal([]string{"elsewhere", "more", "shop", "target"}),
		"the readable entries name further namespaces")
	g.Expect(rebuilt.Entries).To(ConsistOf(HaveField("Name", three[0].Name), HaveField("Name", three[2].Name),
		HaveField("Namespace", "elsewhere")),
		"an object with a recorded name and another UID is a copy of somebody else")
	g.Expect(rebuilt.Copies).To(And(ContainSubstring("/copy"), ContainSubstring(replaced.Name)))
	g.Expect(rebuilt.Unsearched).To(BeEmpty())
}

func TestAnInventoryIsNotRebuiltFromNothing(t *testing.T) {
	part := discovery.Resource{
		GroupVersionResource: partGVK.GroupVersion().WithResource("parts"), Kind: "Part",
		Namespaced: true,
	}
	refused := listing{resource: configMaps, refused: errors.New("forbidden")}
	for name, test := range map[string]struct {
		search              *search
		namespace           string
		asOperator, deletes bool
		want                string
	}{
		"an error if the search fails": {search: &search{err: errors.New("no discovery")}, want: "no discovery"},
		"an error if no type may be listed": {
			search: &search{report: Report{refused}},
			want:   "allow the engine to list",
		},
		"an error if only owners may be listed": {search: &search{report: Report{
			refused,
			{resource: part, everywhere: true},
		}}, asOperator: true, want: "allow the engine to list"},
		"an error in a deletion too": {
			search: &search{report: Report{refused}}, deletes: true,
			want: "allow the engine to list",
		},
		"an error in a namespace that ends": {
			search: &search{report: Report{refused}}, namespace: "ending",
			want: "allow the engine to list",
		},
		"none in a deletion with its namespace": {
			search: &search{report: Report{refused}}, namespace: "ending",
			deletes: true,
		},
		"none if the namespace itself was listed": {search: &search{report: Report{{
			resource: configMaps,
			refused:  errors.New("no"), namespaces: []string{"target"},
		}}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := test.search.recovery()
			r.AsOperator = test.asOperator
			if test.namespace != "" {
				r.Namespace = test.namespace
			}
			rebuilt, err := r.Rebuild(t.Context(), partOwner, nil, test.deletes)
			if test.want != "" {
				g.Expect(err).To(MatchError(ContainSubstring(test.want)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(rebuilt.Unsearched).To(ContainSubstring("configmaps"))
		})
	}
}

func TestTheLinesOfANewerVersionAreNotRebuilt(t *testing.T) {
	g := NewWithT(t)
	lines, growth := Lines(entries(2))
	parsed, err := Parse(lines)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(parsed).To(Equal(entries(2)))
	g.Expect(growth).To(BeZero())
	_, growth = Lines([]metav1alpha1.InventoryEntry{{Kind: "ConfigMap", Version: "v1", Name: "a"}})
	g.Expect(growth).To(Equal(writtenSize))
	_, err = Parse(newerLines(1))
	_, isCondition := errors.AsType[*passerror.Error](err)
	g.Expect(isCondition).To(BeTrue(), "%v", err)
}
