package normalise_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// Any decoded manifests must be refused, or be normalised to the same objects each time.
func FuzzNormalise(f *testing.F) {
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: "
	for _, seed := range []string{
		head + "{shop.example.com/order: '1,2,3', shop.example.com/purge-order: '1,2,3'}}\n",
		head + "{shop.example.com/phase: 'apply, pre-delete,post-delete', shop.example.com/phase-order: '4'}}\n",
		head + "{shop.example.com/order: '1,1', shop.example.com/update-policy: recreate}}\ndata: {a: b}\n",
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, spec: {group: g, " +
			"scope: Cluster, names: {kind: K}, versions: [{name: v1, subresources: {status: {}}}, 1]}}",
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: b}, data: {a: '!'}, status: {}}",
		"{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {a: 1}}}]}",
	} {
		f.Add([]byte(seed))
	}
	fuzzing.Run(f, func(t *testing.T, stream []byte) {
		decoded, err := manifests.Decode("f.yaml", stream)
		if err != nil {
			return
		}
		first, firstErr := normalise.Manifests(decoded, options)
		second, secondErr := normalise.Manifests(decoded, options)
		if difference := cmp.Diff(first, second); difference != "" {
			t.Errorf("-first +second:\n%s", difference)
		}
		if (firstErr == nil) != (secondErr == nil) || firstErr != nil && firstErr.Error() != secondErr.Error() {
			t.Errorf("got %v, then %v", firstErr, secondErr)
		}
	})
}
