package component

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/dependencies"
)

// convoy is a component with dependencies.
type convoy struct {
	crate
	Spec convoySpec `json:"spec"`
}

type convoySpec struct {
	metav1alpha1.DependencySpec `json:",inline"`
	metav1alpha1.ConsentSpec    `json:",inline"`
	Size                        string `json:"size,omitempty"`
}

func (c *convoy) GetSpec() any                   { return &c.Spec }
func (c *convoy) DeepCopyObject() runtime.Object { return new(*c) }

func newConvoy(namespace string, needs ...metav1alpha1.Dependency) *convoy {
	c := &convoy{crate: crate{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}}
	c.Spec.DependsOn = needs
	return c
}

func TestNeeds(t *testing.T) {
	a := (&Reconciler[*convoy]{}).author()
	c := newConvoy("shop", metav1alpha1.Dependency{Name: "db"},
		metav1alpha1.Dependency{Namespace: "infra", Name: "mesh", Deletion: metav1alpha1.DependencyIgnored})
	c.Spec.AllowDependents = []metav1alpha1.Consent{{Namespace: "blog"}}
	needs := a.Needs(c)
	want := []dependencies.Edge{
		{On: types.NamespacedName{Namespace: "shop", Name: "db"}, Kind: dependencies.DependsOn, Blocks: true},
		{On: types.NamespacedName{Namespace: "infra", Name: "mesh"}, Kind: dependencies.DependsOn},
	}
	if !slices.Equal(needs.Edges, want) || !slices.Equal(needs.Allows, []string{"blog"}) ||
		needs.Field != "spec.dependsOn" {
		t.Errorf("the component needs %+v", needs)
	}
	if needs := a.Needs(&freight{}); needs.Edges != nil || needs.Allows != nil {
		t.Errorf("a component without dependencies needs %+v", needs)
	}
	c.Spec.DependsOn = make([]metav1alpha1.Dependency, maxDependencies+1)
	if got := len(a.Needs(c).Edges); got != maxDependencies {
		t.Errorf("the component has %d edges", got)
	}
}

func TestDependenciesAreNoInputs(t *testing.T) {
	c := newConvoy("shop", metav1alpha1.Dependency{Name: "db"})
	c.Spec.AllowDependents, c.Spec.Size = []metav1alpha1.Consent{{Namespace: "blog"}}, "large"
	got, err := renderedPart(c)
	if want := map[string]any{"size": "large"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the rendered part is %v, %v", got, err)
	}
}

func TestDependenciesThatCannotBeMeant(t *testing.T) {
	db, mesh := metav1alpha1.Dependency{Name: "db"}, metav1alpha1.Dependency{Namespace: "infra", Name: "db"}
	for _, c := range []struct {
		name      string
		namespace string
		needs     []metav1alpha1.Dependency
		// want are parts of the message; nil if there is no error.
		want []string
	}{
		{"none", "shop", nil, nil},
		{"components of the same name in two namespaces", "shop", []metav1alpha1.Dependency{db, mesh}, nil},
		{
			"the component itself",
			"shop",
			[]metav1alpha1.Dependency{db, {Name: "web"}},
			[]string{"spec.dependsOn[1]: the component depends on itself"},
		},
		{
			"the component itself, with its namespace",
			"shop",
			[]metav1alpha1.Dependency{{Namespace: "shop", Name: "web"}},
			[]string{"spec.dependsOn[0]: the component depends on itself"},
		},
		{"its name in another namespace", "shop", []metav1alpha1.Dependency{{Namespace: "blog", Name: "web"}}, nil},
		{
			"one component twice",
			"shop",
			[]metav1alpha1.Dependency{db, {Namespace: "shop", Name: "db"}},
			[]string{"spec.dependsOn[1]: spec.dependsOn[0] names the same component"},
		},
		{
			"several mistakes",
			"shop",
			[]metav1alpha1.Dependency{{}, {Name: "db", Deletion: "wait"}},
			[]string{"spec.dependsOn[0]: it names no component", `spec.dependsOn[1]: deletion is "wait"`},
		},
		{
			"a namespace, for a component without one",
			"",
			[]metav1alpha1.Dependency{mesh},
			[]string{"spec.dependsOn[0]: components of this type have no namespace"},
		},
		{
			"too many",
			"shop",
			make([]metav1alpha1.Dependency, maxDependencies+1),
			[]string{"spec.dependsOn has 33 entries, and at most 32"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := (&Reconciler[*convoy]{}).author()
			err := a.Validate(newConvoy(c.namespace, c.needs...))
			if (err != nil) != (c.want != nil) {
				t.Fatalf("Validate returned %v", err)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not contain %q", err, part)
				}
			}
		})
	}
}
