package input

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

func TestCycleOf(t *testing.T) {
	for _, c := range []struct{ name, edges, want string }{
		{"a component that reads itself", "a>a", "a reads a"},
		{"two components", "a>b b>a", "a reads b reads a"},
		{"the shortest of several cycles", "a>b b>c c>a a>d d>a", "a reads d reads a"},
		{"a component that reads from a cycle", "a>b b>c c>b", ""},
		{"a diamond", "a>b a>c b>d c>d", ""},
		{"a component that does not exist", "a>missing", ""},
		{"a long cycle", "a>b b>c c>d d>e e>f f>a", "a reads b reads c reads d reads e reads f reads a"},
		{"other types", "a>b b>a:Other.example.com", ""},
		{"the own type, by its name", "a>b b>a:Shop.example.com", "a reads b reads a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			references := map[string][]metav1alpha1.Reference{}
			for edge := range strings.FieldsSeq(c.edges) {
				from, to, _ := strings.Cut(edge, ">")
				name, kind, _ := strings.Cut(to, ":")
				references[from] = append(references[from], metav1alpha1.Reference{
					Kind: metav1alpha1.ComponentReference, Name: name, Type: kind, Export: "x",
				}, metav1alpha1.Reference{Kind: metav1alpha1.SecretReference, Name: "a"})
			}
			r := &Reader{
				Type: schema.GroupKind{Group: "example.com", Kind: "Shop"},
				ReferencesOf: func(_ context.Context, name types.NamespacedName) ([]metav1alpha1.Reference, error) {
					return references[name.Name], nil
				},
			}
			cycle, err := r.cycleOf(t.Context(), types.NamespacedName{Namespace: "n", Name: "a"}, references["a"])
			got := ""
			if cycle != nil {
				got = strings.Join(append(append([]string{"a"}, cycle...), "a"), " reads ")
			}
			if err != nil || got != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}
