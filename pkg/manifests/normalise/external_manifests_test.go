package normalise_test

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

const prefix = "shop.example.com"

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestExternalsNeedNoAPIServer(t *testing.T) {
	objects, err := normalise.Manifests([]*unstructured.Unstructured{parsed(t, `
apiVersion: external.fairlead.io/v1
kind: Schema
metadata: {name: orders, namespace: shop, annotations: {shop.example.com/external-id: "4711"}}
references: [{kind: Secret, name: admin}]
spec: {charset: utf8}
`)}, normalise.Options{Reconciler: prefix, Namespace: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if got := objects[0].Key.String(); got != "Schema.external.fairlead.io orders" || !objects[0].Key.IsExternal() {
		t.Errorf("key %s", got)
	}
	if objects[0].Settings.ExternalID() != "4711" {
		t.Errorf("external id %q", objects[0].Settings.ExternalID())
	}
	refs, err := settingtext.ExternalReferences(objects[0].Body)
	want := metav1alpha1.Reference{Kind: metav1alpha1.SecretReference, Name: "admin", Credential: true}
	if err != nil || len(refs) != 1 || refs[0] != want {
		t.Errorf("references %v, %v", refs, err)
	}
}

func TestHolesOfAnExternalAreNullInItsFirstCheck(t *testing.T) {
	const spec = `{charset: "${{ charset }}", tables: [{name: "a", owner: "x-${{ owner }}"}, "${{ table }}"], size: 5}`
	source := parsed(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: source, annotations: {shop.example.com/export:
		"charset=self.data.a,owner=self.data.b,table=self.data.c"}}}`)
	for name, c := range map[string]struct {
		annotations, want string
		partial           bool
	}{
		"with the setting bind": {
			"{shop.example.com/bind: 'true'}",
			`{"charset":null,"size":5,"tables":[{"name":"a","owner":null},null]}`, true,
		},
		"without it": {
			"{}",
			`{"charset":"${{ charset }}","size":5,"tables":[{"name":"a","owner":"x-${{ owner }}"},"${{ table }}"]}`, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			external := parsed(t, `{apiVersion: external.fairlead.io/v1, kind: Schema, metadata: {name: orders, annotations: `+
				c.annotations+`}, spec: `+spec+`}`)
			checks := 0
			objects, err := normalise.Manifests([]*unstructured.Unstructured{source, external}, normalise.Options{
				Reconciler: prefix, Namespace: "shop",
				ScopeOf: func(schema.GroupVersionKind) (manifests.Scope, error) { return manifests.ScopeNamespaced, nil },
				CheckExternal: func(body *unstructured.Unstructured, partial bool) error {
					checks++
					if got, err := json.Marshal(body.Object["spec"]); err != nil || string(got) != c.want || partial != c.partial {
						t.Errorf("the spec is %s, %v; partial %v", got, err, partial)
					}
					return nil
				},
			})
			if err != nil || checks != 1 {
				t.Fatalf("%d checks, %v", checks, err)
			}
			for _, o := range objects {
				if value, _, _ := unstructured.NestedString(o.Body.Object, "spec", "charset"); o.Key.IsExternal() &&
					value != "${{ charset }}" {
					t.Errorf("the check changed the manifest: %v", o.Body.Object)
				}
			}
		})
	}
}

func TestMistakesInExternals(t *testing.T) {
	for name, c := range map[string]struct {
		manifest string
		want     []string
	}{
		"another version": {
			"apiVersion: external.fairlead.io/v2\nkind: Schema\nmetadata: {name: orders}",
			[]string{"apiVersion is external.fairlead.io/v2; the only version is external.fairlead.io/v1"},
		},
		"unknown fields, all of them": {
			"apiVersion: external.fairlead.io/v1\nkind: Schema\nmetadata: {name: orders}\ndata: {}\nstatus: {}",
			[]string{"data: an external has the fields references and spec only", "status: an external has"},
		},
		"settings without effect": {
			"apiVersion: external.fairlead.io/v1\nkind: Schema\nmetadata: {name: orders, annotations: " +
				"{shop.example.com/ignore: spec.charset, shop.example.com/status-hint: has-ready-condition}}",
			[]string{"shop.example.com/ignore: has no effect on an external", "shop.example.com/status-hint: has no effect"},
		},
		"several orders": {
			"apiVersion: external.fairlead.io/v1\nkind: Schema\nmetadata: {name: orders, annotations: " +
				"{shop.example.com/order: \"1,2\", shop.example.com/purge-order: \"1,2\"}}",
			[]string{"an external has one order only"},
		},
		"references of another kind": {
			"apiVersion: external.fairlead.io/v1\nkind: Schema\nmetadata: {name: orders}\n" +
				"references: [{kind: Pod, name: x}, {kind: Secret, name: A_B, key: c}]",
			[]string{
				`references[0]: kind is "Pod"; it must be Secret or ConfigMap`, `references[1]: name is "A_B"`,
				"key: unknown field",
			},
		},
		"a name that is no DNS name": {
			"apiVersion: external.fairlead.io/v1\nkind: Schema\nmetadata: {name: 'system:orders'}",
			[]string{`metadata.name "system:orders"`},
		},
		"a manifest that is too large": {
			"apiVersion: external.fairlead.io/v1\nkind: Schema\nmetadata: {name: orders}\nspec: {text: " + strings.Repeat("x",
				70_000) + "}",
			[]string{"bytes as JSON; an external may have 65536"},
		},
		"the id of an external on another object": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b, annotations: {shop.example.com/external-id: x}}",
			[]string{"external-id: only objects of the API group external.fairlead.io may have it"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := normalise.Manifests([]*unstructured.Unstructured{parsed(t, c.manifest)}, normalise.Options{
				Reconciler: prefix, Namespace: "shop",
				ScopeOf: func(schema.GroupVersionKind) (manifests.Scope, error) { return manifests.ScopeNamespaced, nil },
			})
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not contain %q", err, part)
				}
			}
		})
	}
}
