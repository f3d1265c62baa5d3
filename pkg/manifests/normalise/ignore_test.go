package normalise_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

func TestPathsThatCannotBeIgnored(t *testing.T) {
	for path, want := range map[string]string{
		"apiVersion":                      "it identifies the object",
		"kind":                            "it identifies the object",
		"status":                          "the status belongs to the controller",
		"metadata":                        "only labels and annotations in it can be ignored, one by one",
		"metadata.name":                   "of metadata only labels and annotations",
		"metadata.finalizers":             "of metadata only labels and annotations",
		"metadata.ownerReferences[*].uid": "of metadata only labels and annotations",
		"metadata[*]":                     "only labels and annotations in it can be ignored, one by one",
		"metadata.labels":                 "name the labels one by one",
		"metadata.annotations[*]":         "name the annotations one by one",
		`metadata.labels["` + reconciler + `/owner-id"]`:    "the labels and annotations of the reconciler",
		`metadata.annotations["` + reconciler + `/digest"]`: "the labels and annotations of the reconciler",
	} {
		t.Run(path, func(t *testing.T) {
			_, err := settingtext.Parse(reconciler, map[string]string{reconciler + "/ignore": path})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the annotation: got %v", err)
			}
			_, err = normalise.NewIgnoreRules(reconciler, manifests.IgnoredByOption,
				[]metav1alpha1.IgnoreRule{{Paths: []string{path}}})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the rule: got %v", err)
			}
			if got := marks.IgnoredOf(map[string]string{reconciler + "/ignore": "spec.a, " + path}, reconciler); got != nil {
				t.Errorf("the live object: got %v", got)
			}
		})
	}
}

func TestAllPathsOfAnAnnotationAreChecked(t *testing.T) {
	_, err := settingtext.Parse(reconciler,
		map[string]string{reconciler + "/ignore": "spec..a, kind, spec.b, metadata.name"})
	for _, want := range []string{`path "spec..a"`, `path "kind"`, `path "metadata.name"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %s in %v", want, err)
		}
	}
}

func TestIgnoreRulesThatAreRefused(t *testing.T) {
	_, err := normalise.NewIgnoreRules(reconciler, manifests.IgnoredBySpec, []metav1alpha1.IgnoreRule{
		{Paths: []string{"spec..a", "spec.b[0]"}},
		{Target: &metav1alpha1.ObjectTarget{Kind: "(", Name: "(a{1000}){1000}", LabelSelector: "a in"}},
		{Paths: strings.Split(strings.Repeat("a,", 32)+"a", ",")},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`[0]: path "spec..a"`, `[0]: path "spec.b[0]"`, "[1]: target.kind: ", "[1]: target.name: ",
		"[1]: target.labelSelector: ",
		"[1]: paths is empty", "[2]: 33 paths; at most 32 are allowed",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if _, err := normalise.NewIgnoreRules(reconciler, manifests.IgnoredBySpec,
		make([]metav1alpha1.IgnoreRule, 65)); err == nil {
		t.Error("65 rules are accepted")
	}
}

func TestRulesOfOptionsAndSpec(t *testing.T) {
	web := `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}, annotations: {shop.example.com/ignore: spec.paused, size: big}}
`
	for _, c := range []struct {
		name   string
		target *metav1alpha1.ObjectTarget
		want   []string
	}{
		{"without a target", nil, []string{"annotation spec.paused", "option spec.replicas", "spec spec.replicas"}},
		{
			"by everything",
			&metav1alpha1.ObjectTarget{
				Group: "apps", Version: "v1", Kind: "Deploy.*", Namespace: "shop", Name: "w.b", LabelSelector: "app=web",
				AnnotationSelector: "size in (big)",
			},
			[]string{"annotation spec.paused", "option spec.replicas", "spec spec.replicas"},
		},
		{"not by a part of the kind", &metav1alpha1.ObjectTarget{Kind: "Deploy"}, []string{"annotation spec.paused"}},
		{"not by another alternative", &metav1alpha1.ObjectTarget{Name: "we|x"}, []string{"annotation spec.paused"}},
		{"not by another group", &metav1alpha1.ObjectTarget{Group: "batch"}, []string{"annotation spec.paused"}},
		{"not by another label", &metav1alpha1.ObjectTarget{LabelSelector: "app!=web"}, []string{"annotation spec.paused"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules := []metav1alpha1.IgnoreRule{{Target: c.target, Paths: []string{"spec.replicas", ".spec.replicas"}}}
			byOption, err := normalise.NewIgnoreRules(reconciler, manifests.IgnoredByOption, rules)
			if err != nil {
				t.Fatal(err)
			}
			bySpec, err := normalise.NewIgnoreRules(reconciler, manifests.IgnoredBySpec, rules)
			if err != nil {
				t.Fatal(err)
			}
			o := options
			o.Ignore = append(byOption, bySpec...)
			object := normaliseWith(t, o, web)[0]
			var got []string
			for _, i := range object.Settings.Ignored() {
				got = append(got, string(i.Source)+" "+i.Path.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if n := len(marks.IgnoredOf(object.Body.GetAnnotations(), reconciler)); n != len(c.want) {
				t.Errorf("the live object would have %d ignored fields", n)
			}
			plain := normaliseWith(t, options, web)[0]
			if !digests.SameContent(plain.Digest, object.Digest) || (plain.Digest == object.Digest) != (len(c.want) == 1) {
				t.Errorf("the digest is %s, without rules %s", object.Digest, plain.Digest)
			}
			again, err := marks.Unmarked(object, reconciler)
			if err != nil || len(again.GetAnnotations()) != 2 {
				t.Errorf("unmarked: %v, %v", again, err)
			}
		})
	}
}

func TestSecretsAreIgnoredByTheirData(t *testing.T) {
	const secret = `
apiVersion: v1
kind: Secret
metadata: {name: login, annotations: {shop.example.com/ignore: "stringData.password"}}
`
	_, err := normalise.Manifests(decode(t, secret), options)
	if err == nil || !strings.Contains(err.Error(), `Secret shop/login: ignored path "stringData.password": `) &&
		!strings.Contains(err.Error(), "write data instead") {
		t.Errorf("got %v", err)
	}
}

func normaliseWith(t *testing.T, o normalise.Options, text string) []manifests.Object {
	t.Helper()
	objects, err := normalise.Manifests(decode(t, text), o)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}
