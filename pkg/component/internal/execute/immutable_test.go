package execute

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

func TestDifferences(t *testing.T) {
	for _, c := range []struct {
		name           string
		manifest, live string
		fields, want   []string
	}{
		{
			"a claim that was restored with another class",
			"spec: {storageClassName: fast, resources: {requests: {storage: 1Gi}}, accessModes: [A]}",
			"spec: {storageClassName: slow, volumeName: pvc-1, volumeMode: Filesystem, resources: {requests: {storage: " +
				"1024Mi}}, accessModes: [A]}",
			[]string{"spec"},
			[]string{"spec.storageClassName"},
		},
		{
			"a pod template", "spec: {template: {spec: {containers: [{name: a, image: b}]}}}",
			"spec: {template: {spec: {containers: [{name: a, image: c, tty: true}]}}}",
			[]string{"spec.template"},
			[]string{"spec.template.spec.containers[0].image"},
		},
		{
			"lists of other lengths, and a value in the place of a map", "spec: {a: [x, y], b: {c: d}, e: 1}",
			"spec: {a: [x], b: z, e: 1}",
			[]string{"spec"},
			[]string{"spec.a", "spec.b"},
		},
		{
			"a value that the object lacks, and empty values", "spec: {a: x, b: '', c: [], d: {}, e: false}", "spec: {}",
			[]string{"spec"},
			[]string{"spec.a"},
		},
		{"nothing below the field", "spec: {a: x}", "spec: {a: y}", []string{"data"}, nil},
		{
			"a field with an index", "spec: {a: [{b: x}]}", "spec: {a: [{b: y}]}",
			[]string{"spec.a[0].b", "spec.a"},
			[]string{"spec.a[0].b"},
		},
		{
			"many fields", "spec: {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1}", "spec: {}",
			[]string{"spec"},
			[]string{"spec.a", "spec.b", "spec.c", "spec.d", "spec.e", "and more"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var manifest, live map[string]any
			for text, into := range map[string]*map[string]any{c.manifest: &manifest, c.live: &live} {
				if err := yaml.Unmarshal([]byte(text), into); err != nil {
					t.Fatal(err)
				}
			}
			if got := differences(manifest, live, c.fields); !slices.Equal(got, c.want) {
				t.Errorf("the differences are %q, want %q", got, c.want)
			}
		})
	}
}

func TestARefusedUpdateOfImmutableFieldsNamesTheFieldsThatDiffer(t *testing.T) {
	const differing = "; these fields of the manifest differ from the object: data.a"
	refusal := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "settings", field.ErrorList{
		field.Invalid(field.NewPath("data"), "", "field is immutable"),
	}).Status()
	refusal.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	immutable := answer{422, refusal}
	withData := found(func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"a": "y"} })
	for _, c := range []struct {
		name    string
		edit    func(*plan.Action)
		answers []answer
		named   bool
		reads   int
	}{
		{"an immutable field", func(*plan.Action) {}, []answer{immutable, withData}, true, 1},
		{
			"an object that cannot be read", func(*plan.Action) {},
			[]answer{immutable, status(403, metav1.StatusReasonForbidden)},
			false, 1,
		},
		{
			"another refusal", func(a *plan.Action) { a.Advice = "" },
			[]answer{immutable},
			false, 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &apiServer{answers: c.answers}
			e, _ := s.executor(t)
			a := action(plan.VerbApply, metav1alpha1.UpdateSSAMerge)
			a.Advice = "keep it"
			c.edit(&a)
			refusal, _ := e.Refused(t.Context(), a)
			if refusal == nil {
				t.Fatal("the API server refuses the manifest, and the result is none")
			}
			if got := strings.HasSuffix(refusal.Failure.Message, differing); got != c.named {
				t.Errorf("the message is %q, want the fields that differ: %t", refusal.Failure.Message, c.named)
			}
			if len(s.requests) != 1+c.reads {
				t.Errorf("the requests are %q, want %d reads", s.verbs(), c.reads)
			}
		})
	}
}

func TestARefusedDryRunOfAMigrationNamesTheFieldsThatDiffer(t *testing.T) {
	refusal := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "settings", field.ErrorList{
		field.Invalid(field.NewPath("data"), "", "field is immutable"),
	}).Status()
	refusal.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	live := found(func(o *unstructured.Unstructured) {
		ownedInPart(o)
		o.Object["data"] = map[string]any{"a": "y"}
	})
	s := &apiServer{answers: []answer{live, live, {422, refusal}, live}}
	e, _ := s.executor(t)
	a := action(plan.VerbApply, metav1alpha1.UpdateSSAMerge)
	a.Migrate, a.Advice = true, "keep it"
	r := e.DryRun(t.Context(), a)
	const differing = "these fields of the manifest differ from the object: data.a"
	if r.Failure == nil || !strings.Contains(r.Failure.Message, differing) {
		t.Errorf("the failure is %+v, want %q in it", r.Failure, differing)
	}
}
