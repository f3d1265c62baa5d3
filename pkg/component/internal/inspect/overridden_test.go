package inspect

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestOverriddenFields(t *testing.T) {
	deployment, custom := manifests.Key{Group: "apps", Kind: "Deployment"}, manifests.Key{
		Group: "shop.example.com",
		Kind:  "Shop",
	}
	secret, configMap := manifests.Key{Kind: "Secret"}, manifests.Key{Kind: "ConfigMap"}
	for _, c := range []struct {
		name             string
		key              manifests.Key
		sent, live, ours string
		want             string
	}{
		{"equal values", deployment, `spec: {replicas: 2}`, `spec: {replicas: 2}`, `f:spec: {f:replicas: {}}`, ""},
		{
			"a number", deployment, `spec: {replicas: 2}`, `spec: {replicas: 7}`, `f:spec: {f:replicas: {}}`,
			"spec.replicas is 7 instead of 2",
		},
		{
			"a value that another manager owns", deployment, `spec: {replicas: 2}`, `spec: {replicas: 7}`,
			`f:spec: {f:paused: {}}`, "",
		},
		{
			"a truth value that the API server leaves out", deployment, `spec: {paused: false}`, `spec: {}`,
			`f:spec: {f:paused: {}}`, "",
		},
		{
			"false that became true", deployment, `spec: {paused: false}`, `spec: {paused: true}`, `f:spec: {f:paused: {}}`,
			"spec.paused is true instead of false",
		},
		{
			"a removed field", deployment, `metadata: {labels: {team: a}}`, `metadata: {}`,
			`f:metadata: {f:labels: {f:team: {}}}`, "metadata.labels is missing",
		},
		{
			"a removed field among others", deployment, `metadata: {labels: {team: a, "x/y": b}}`,
			`metadata: {labels: {team: a}}`,
			`f:metadata: {f:labels: {f:team: {}, f:x/y: {}}}`, `metadata.labels["x/y"] is missing`,
		},
		{
			"a mark of the reconciler", deployment, `metadata: {labels: {shop.example.com/owner-id: a}}`,
			`metadata: {labels: {}}`,
			`f:metadata: {f:labels: {f:shop.example.com/owner-id: {}}}`, "",
		},
		{"added fields", deployment, `spec: {a: 1}`, `spec: {a: 1, b: 2}`, `f:spec: {f:a: {}}`, ""},
		{
			"an empty text that the API server replaces", deployment, `spec: {clusterIP: ""}`, `spec: {clusterIP: 10.0.0.1}`,
			`f:spec: {f:clusterIP: {}}`, "",
		},
		{
			"a port of 0 that the API server replaces", deployment, `spec: {nodePort: 0}`, `spec: {nodePort: 30000}`,
			`f:spec: {f:nodePort: {}}`, "",
		},
		{
			"null and empty values", deployment, `spec: {a: null, b: {}, c: [], d: {e: null}}`, `spec: {a: 1}`,
			`f:spec: {f:a: {}, f:b: {}, f:c: {}, f:d: {f:e: {}}}`, "",
		},
		{"a number in another form", custom, `spec: {a: 1.0}`, `spec: {a: 1}`, `f:spec: {f:a: {}}`, ""},
		{
			"a quantity in another form", deployment, `spec: {cpu: 1000m, memory: 1024Mi, n: 1}`,
			`spec: {cpu: "1", memory: 1Gi, n: "1"}`, `f:spec: {f:cpu: {}, f:memory: {}, f:n: {}}`, "",
		},
		{
			"another quantity", deployment, `spec: {limits: {cpu: 1000m}}`, `spec: {limits: {cpu: "2"}}`,
			`f:spec: {f:limits: {f:cpu: {}}}`,
			"spec.limits.cpu is 2 instead of 1000m",
		},
		{
			"a time in another zone", custom, `spec: {t: "2030-01-01T02:00:00+02:00"}`, `spec: {t: "2030-01-01T00:00:00Z"}`,
			`f:spec: {f:t: {}}`, "",
		},
		{
			"another time", custom, `spec: {t: "2030-01-01T02:00:00+02:00"}`, `spec: {t: "2031-01-01T00:00:00Z"}`,
			`f:spec: {f:t: {}}`, "spec.t has another value",
		},
		{"a duration in another form", custom, `spec: {t: 60m}`, `spec: {t: 1h0m0s}`, `f:spec: {f:t: {}}`, ""},
		{"bytes with line breaks", secret, `data: {a: "AAEC\nAwQF"}`, `data: {a: AAECAwQF}`, `f:data: {f:a: {}}`, ""},
		{
			"a value of a Secret", secret, `data: {a: AAEC}`, `data: {a: AwQF}`, `f:data: {f:a: {}}`,
			"data.a has another value",
		},
		{
			"texts of a Secret, which become data", secret, `stringData: {a: b}`, `data: {a: Yg==}`,
			`f:stringData: {f:a: {}}`, "",
		},
		{
			"a text, which may come from a Secret", configMap, `data: {a: b}`, `data: {a: c}`, `f:data: {f:a: {}}`,
			"data.a has another value",
		},
		{
			"a number of a custom resource", custom, `spec: {pin: 1}`, `spec: {pin: 2}`, `f:spec: {f:pin: {}}`,
			"spec.pin has another value",
		},
		{
			"an item with a key", deployment,
			`spec: {containers: [{name: a, image: x}, {name: b, image: z}]}`,
			`spec: {containers: [{name: i, image: i}, {name: b, image: mirror/z, tty: true}, {name: a, image: x}]}`,
			`f:spec: {f:containers: {'k:{"name":"a"}': {.: {}, f:name: {}, f:image: {}}, 'k:{"name":"b"}': {.: {}, f:name: {}, f:image: {}}}}`,
			`spec.containers[name="b"].image is mirror/z instead of z`,
		},
		{
			"a removed item with a key", deployment, `spec: {containers: [{name: a, image: x}]}`,
			`spec: {containers: [{name: b, image: x}]}`,
			`f:spec: {f:containers: {'k:{"name":"a"}': {.: {}, f:name: {}, f:image: {}}}}`,
			`spec.containers[name="a"] is missing`,
		},
		{
			"items of a set", custom, `spec: {s: [a, b]}`, `spec: {s: [c, b]}`, `f:spec: {f:s: {'v:"a"': {}, 'v:"b"': {}}}`,
			"spec.s lacks an item",
		},
		{
			"an item that was added to a list without keys", deployment, `spec: {args: [a]}`, `spec: {args: [z, a]}`,
			`f:spec: {f:args: {}}`, "",
		},
		{
			"an item that was replaced in a list without keys", deployment, `spec: {args: [a, b]}`, `spec: {args: [z, b]}`,
			`f:spec: {f:args: {}}`, "spec.args has another value",
		},
		{
			"a default in a list without keys", deployment, `spec: {rules: [{a: 1, f: false}]}`,
			`spec: {rules: [{a: 1, scope: "*"}]}`, `f:spec: {f:rules: {}}`, "",
		},
		{
			"a map that became a text", custom, `spec: {a: {b: 1}}`, `spec: {a: x}`, `f:spec: {f:a: {f:b: {}}}`,
			"spec.a has another value",
		},
		{
			"more than three fields", deployment, `spec: {a: 1, b: 1, c: 1, d: 1, e: 1}`, `spec: {a: 2, b: 2, c: 2, d: 2, e: 2}`,
			`f:spec: {f:a: {}, f:b: {}, f:c: {}, f:d: {}, f:e: {}}`,
			"spec.a is 2 instead of 1, spec.b is 2 instead of 1, spec.c is 2 instead of 1, 2 more",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			live := object(t, c.live)
			live.SetManagedFields([]metav1.ManagedFieldsEntry{entry(t, reconciler, apply, "{"+c.ours+"}")})
			manifest := manifests.Object{Key: c.key, Body: object(t, c.sent)}
			o := Compare(plan.Observed{}, live, manifest, metav1alpha1.UpdateSSAOverride, reconciler)
			got := ""
			if o.Response != nil {
				got = o.Response.Overridden
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
