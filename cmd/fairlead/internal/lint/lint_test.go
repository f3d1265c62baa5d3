package lint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// object renders an object with the order of a wave and further fields.
func object(apiVersion, kind, name string, wave int, fields ...string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s, annotations: {fairlead.io/order: '%d'}}\n%s",
		apiVersion, kind, name, wave, strings.Join(fields, "\n"))
}

func TestSet(t *testing.T) {
	pod := func(spec string) string { return object("v1", "Pod", "web", 1, "spec: {"+spec+"}") }
	statefulSet := func(spec string) string { return object("apps/v1", "StatefulSet", "db", 1, "spec: {"+spec+"}") }
	ingress := func(spec string) string {
		return object("networking.k8s.io/v1", "Ingress", "web", 1, "spec: {"+spec+"}")
	}
	priority := func(wave int) string {
		return object("scheduling.k8s.io/v1", "PriorityClass", "high", wave, "value: 1")
	}
	runtimeClass := func(wave int) string { return object("node.k8s.io/v1", "RuntimeClass", "safe", wave, "handler: x") }
	ingressClass := func(wave int) string { return object("networking.k8s.io/v1", "IngressClass", "edge", wave) }
	storage := func(wave int) string {
		return object("storage.k8s.io/v1", "StorageClass", "fast", wave, "provisioner: x")
	}
	later := func(of, field, named string) []string {
		return []string{of + ": " + field + ": " + named +
			" is in wave 2, and this object in the earlier wave 1; give it order 1 or an earlier one"}
	}
	const claim = "{metadata: {name: data}, spec: {storageClassName: fast}}"
	for name, c := range map[string]struct {
		objects []string
		want    []string
	}{
		"a ConfigMap in an earlier wave": {
			objects: []string{pod("volumes: [{name: a, configMap: {name: a}}]"), object("v1", "ConfigMap", "a", 0)},
		},
		"a ConfigMap in a later wave": {
			objects: []string{pod("volumes: [{name: a, configMap: {name: a}}]"), object("v1", "ConfigMap", "a", 2)},
			want:    later("Pod shop/web", "spec.volumes[0].configMap.name", "ConfigMap shop/a"),
		},
		"a missing ConfigMap": {
			objects: []string{pod("volumes: [{name: a, configMap: {name: a}}]")},
			want: []string{"Pod shop/web: spec.volumes[0].configMap.name: ConfigMap shop/a is not in the set, " +
				"so it must exist in the cluster before"},
		},
		"a missing ConfigMap that is optional": {
			objects: []string{pod("volumes: [{name: a, configMap: {name: a, optional: true}}]")},
		},
		"classes of the cluster that are not in the set": {
			objects: []string{
				pod("priorityClassName: high, runtimeClassName: safe"), ingress("ingressClassName: edge"),
				object("v1", "PersistentVolumeClaim", "data", 1, "spec: {storageClassName: fast}"),
			},
		},
		"classes in the same wave": {
			objects: []string{
				pod("priorityClassName: high, runtimeClassName: safe"), priority(1), runtimeClass(1),
				ingress("ingressClassName: edge"), ingressClass(1),
				statefulSet("volumeClaimTemplates: [" + claim + "]"), storage(1),
			},
		},
		"a PriorityClass in a later wave": {
			objects: []string{pod("priorityClassName: high"), priority(2)},
			want:    later("Pod shop/web", "spec.priorityClassName", "PriorityClass.scheduling.k8s.io high"),
		},
		"a RuntimeClass in a later wave": {
			objects: []string{pod("runtimeClassName: safe"), runtimeClass(2)},
			want:    later("Pod shop/web", "spec.runtimeClassName", "RuntimeClass.node.k8s.io safe"),
		},
		"an IngressClass in a later wave": {
			objects: []string{ingress("ingressClassName: edge"), ingressClass(2)},
			want: later("Ingress.networking.k8s.io shop/web", "spec.ingressClassName",
				"IngressClass.networking.k8s.io edge"),
		},
		"a StorageClass in a later wave than a claim": {
			objects: []string{
				object("v1", "PersistentVolumeClaim", "data", 1, "spec: {storageClassName: fast}"), storage(2),
			},
			want: later("PersistentVolumeClaim shop/data", "spec.storageClassName", "StorageClass.storage.k8s.io fast"),
		},
		"a StorageClass in a later wave than a StatefulSet": {
			objects: []string{statefulSet("volumeClaimTemplates: [" + claim + "]"), storage(2)},
			want: later("StatefulSet.apps shop/db", "spec.volumeClaimTemplates[0].spec.storageClassName",
				"StorageClass.storage.k8s.io fast"),
		},
		"a StorageClass in a later wave than a pod with an ephemeral volume": {
			objects: []string{pod("volumes: [{name: a, ephemeral: {volumeClaimTemplate: " + claim + "}}]"), storage(2)},
			want: later("Pod shop/web", "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.storageClassName",
				"StorageClass.storage.k8s.io fast"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := Set("shop", normalised(t, c.objects))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range found {
				got = append(got, f.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// normalised returns the apply set of a component in the namespace shop.
func normalised(t *testing.T, texts []string) []manifests.Object {
	t.Helper()
	bodies, err := manifests.Decode("test.yaml", []byte(strings.Join(texts, "\n---\n")))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := normalise.Manifests(bodies, normalise.Options{
		Reconciler: "fairlead.io", Namespace: "shop",
		ScopeOf: func(gvk schema.GroupVersionKind) (manifests.Scope, error) {
			if strings.HasSuffix(gvk.Kind, "Class") {
				return manifests.ScopeCluster, nil
			}
			return manifests.ScopeNamespaced, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}
