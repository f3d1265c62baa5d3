package generatortest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/generatortest"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const reconciler = "shop.example.com"

// bucketSpec is the spec of the only registered kind of externals.
type bucketSpec struct {
	Size int `json:"size,omitempty"`
}

type buckets struct{}

func (buckets) Observe(context.Context, external.Ref[bucketSpec]) (bucketSpec, error) {
	return bucketSpec{}, external.ErrNotFound
}

func (buckets) Validate(spec bucketSpec) error {
	if spec.Size < 0 {
		return errors.New("spec.size: it is negative")
	}
	return nil
}

// manifestsOf returns a generator of the manifests in a text.
func manifestsOf(text string) generator.Generator {
	return generator.GeneratorFunc(func(ctx context.Context, _ generator.Request) ([]client.Object, error) {
		decoded, err := manifests.Decode("test", []byte(text))
		if err != nil {
			return nil, err
		}
		objects := make([]client.Object, 0, len(decoded))
		for _, object := range decoded {
			objects = append(objects, object)
		}
		return objects, ctx.Err()
	})
}

// annotated returns the manifest of a ConfigMap with a setting.
func annotated(name, setting, value string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, annotations: {%s: %q}}\ndata: {a: b}\n",
		name, reconciler+"/"+setting, value)
}

func bucket(kind, spec string) string {
	return "apiVersion: external.fairlead.io/v1\nkind: " + kind + "\nmetadata: {name: a}\nspec: " + spec + "\n"
}

func TestTheSetIsCheckedAsAReconcilerDoes(t *testing.T) {
	bound := strings.Replace(annotated("b", "bind", "true"), "a: b", `a: "${{ size }}"`, 1)
	for _, test := range []struct{ name, set, want string }{
		{"valid settings", annotated("a", "order", "3") + annotated("b", "include-when", "parameters.size > 1"), ""},
		{"several orders", annotated("a", "order", "1,3"), ""},
		{"an export and its hole", annotated("a", "export", "size=self.data.a") + bound, ""},
		{
			"a misspelt setting", annotated("a", "prune-polcy", "at-once"),
			"shop.example.com/prune-polcy: is not a setting; settings are ",
		},
		{"a setting of the reconciler", annotated("a", "digest", "x"), "is written by the reconciler; remove it"},
		{"a wrong value", annotated("a", "delete-policy", "orphn"), `"orphn" is not an allowed value: delete, orphan,`},
		{"a number that is none", annotated("a", "order", "first"), "annotation shop.example.com/order"},
		{"an expression with an error", annotated("a", "include-when", "parameters.size >"), "include-when: "},
		{"an unknown variable", annotated("a", "active-when", "values.size > 1"), "active-when: "},
		{"a condition with an error", annotated("a", "ready-when", "self.status.phase = 'x'"), "ready-when: "},
		{"a condition in Go", annotated("a", "ready-when", "go/full"), ""},
		{
			"an unknown condition in Go", annotated("a", "ready-when", "go/fill"),
			"the reconciler has no condition go/fill; its conditions are go/full",
		},
		{"orders that contradict each other", strings.Replace(annotated("a", "order", "3"), "order: ",
			"purge-order: \"1\", shop.example.com/order: ", 1), "1 is before order 3"},
		{"a dependency that is not rendered", annotated("a", "depends-on", "ConfigMap b"), "ConfigMap"},
		{"a hole without an export", bound, "size"},
		{"an external", bucket("Bucket", "{size: 1}"), ""},
		{
			"an external of an unknown kind", bucket("Bukcet", "{size: 1}"),
			"no handler is registered for externals of the kind Bukcet; registered are Bucket",
		},
		{"an unknown field of an external", bucket("Bucket", "{sise: 1}"), "sise"},
		{"an invalid spec of an external", bucket("Bucket", "{size: -1}"), "spec.size: it is negative"},
		{
			"a kind that its group does not have", "apiVersion: apps/v1\nkind: Deploiment\nmetadata: {name: a}\n",
			"no kind Deploiment.apps in Kubernetes",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := generatortest.Verify(t.Context(), manifestsOf(test.set), generatortest.Options{
				Reconciler: reconciler, Conditions: []string{"full"},
				Externals: []external.Driver{external.Of("Bucket", buckets{}, external.Options[bucketSpec]{})},
			}, requests()[0])
			switch {
			case test.want == "" && err != nil:
				t.Errorf("got %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestSettingsNeedTheNameOfTheReconciler(t *testing.T) {
	set := annotated("a", "order", "3")
	err := generatortest.Verify(t.Context(), manifestsOf(set), generatortest.Options{}, requests()[0])
	if want := "annotation shop.example.com/order is a setting if the reconciler is called shop.example.com; set " +
		"Options.Reconciler"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	err = generatortest.Verify(t.Context(), manifestsOf(bucket("Bucket", "{}")), generatortest.Options{}, requests()[0])
	if want := "no kind is registered"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestGeneratedValuesMayDifferAndNothingElse(t *testing.T) {
	random := func() string { return fmt.Sprint(rand.N(1<<60) + 1<<60) }
	for name, test := range map[string]struct {
		change func(data map[string]string) (objectName string)
		want   string
	}{
		"a value": {func(data map[string]string) string { data["password"] = random(); return "a" }, ""},
		"a field": {func(data map[string]string) string { data[random()] = "x"; return "a" }, "is in one rendering only"},
		"a name":  {func(map[string]string) string { return "a" + random() }, "is in one rendering only"},
	} {
		t.Run(name, func(t *testing.T) {
			g := generator.GeneratorFunc(func(ctx context.Context, _ generator.Request) ([]client.Object, error) {
				object := named("a")
				object.Name = test.change(object.Data)
				return []client.Object{object}, ctx.Err()
			})
			err := generatortest.Verify(t.Context(), g, generatortest.Options{GeneratedValues: true}, requests()...)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "set Options.GeneratedValues") {
				t.Errorf("the advice does not help any more: %v", err)
			}
			if err = generatortest.Verify(t.Context(), g, generatortest.Options{}, requests()...); err == nil ||
				!strings.Contains(err.Error(), "set Options.GeneratedValues") {
				t.Errorf("without the option: got %v", err)
			}
		})
	}
}

func TestTheOrderOfObjectsWithGeneratedValuesIsChecked(t *testing.T) {
	var renderings atomic.Int64
	g := generator.GeneratorFunc(func(ctx context.Context, _ generator.Request) ([]client.Object, error) {
		if renderings.Add(1) == 1 {
			return []client.Object{named("a"), named("b")}, ctx.Err()
		}
		return []client.Object{named("b"), named("a")}, ctx.Err()
	})
	err := generatortest.Verify(t.Context(), g, generatortest.Options{GeneratedValues: true}, requests()[0])
	if err == nil || !strings.Contains(err.Error(), "a second rendering differs") {
		t.Errorf("got %v", err)
	}
}

func TestFurtherRenderingsOfGeneratedValuesAreTrials(t *testing.T) {
	var renderings, trials atomic.Int64
	for shape, most := range map[string]int64{"same": 4, "other": 16} {
		renderings.Store(0)
		trials.Store(0)
		g := generator.GeneratorFunc(func(ctx context.Context, req generator.Request) ([]client.Object, error) {
			renderings.Add(1)
			object := named("a")
			if req.Trial {
				trials.Add(1)
				object.Data[shape] = "key"
			}
			object.Data["same"] = "key"
			return []client.Object{object}, ctx.Err()
		})
		if err := generatortest.Verify(t.Context(), g, generatortest.Options{GeneratedValues: true},
			requests()[0]); err != nil {
			t.Errorf("%s: got %v", shape, err)
		}
		if trials.Load() < 10 || renderings.Load()-trials.Load() > most {
			t.Errorf("%s: %d of %d renderings are trials", shape, trials.Load(), renderings.Load())
		}
	}
}

func TestARequestHasTheCapabilitiesOfACluster(t *testing.T) {
	var asked []bool
	g := generator.GeneratorFunc(func(ctx context.Context, req generator.Request) ([]client.Object, error) {
		if len(asked) < 2 {
			asked = append(asked, req.Capabilities.APIVersions.Has("policy/v1"),
				req.Capabilities.APIVersions.Has("a.example/v1"))
		}
		return nil, ctx.Err()
	})
	if err := generatortest.Verify(t.Context(), g, generatortest.Options{}, requests()[0]); err != nil {
		t.Fatal(err)
	}
	if !asked[0] || asked[1] {
		t.Errorf("got %v, want the built-in types and no others", asked)
	}
}

func TestSettingsOfAGeneratorInGoAreChecked(t *testing.T) {
	g := generator.GeneratorFunc(func(ctx context.Context, _ generator.Request) ([]client.Object, error) {
		object := named("a")
		generator.Settings{Order: 1, DeletePolicy: metav1alpha1.DeleteOrphan, ReadyWhen: "self.data.a =="}.Annotate(object,
			reconciler)
		return []client.Object{object}, ctx.Err()
	})
	err := generatortest.Verify(t.Context(), g, generatortest.Options{Reconciler: reconciler}, requests()[0])
	if err == nil || !strings.Contains(err.Error(), "ready-when: ") || strings.Contains(err.Error(), "delete-policy") {
		t.Errorf("got %v", err)
	}
}
