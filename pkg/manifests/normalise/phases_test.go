package normalise_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

func normalised(t *testing.T, text string) ([]manifests.Object, error) {
	t.Helper()
	decoded, err := manifests.Decode("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return normalise.Manifests(decoded, normalise.Options{
		Reconciler: "shop.example.com", Namespace: "shop",
		ScopeOf: func(schema.GroupVersionKind) (manifests.Scope, error) { return manifests.ScopeNamespaced, nil },
	})
}

func TestAManifestOfSeveralPhasesLivesInEachOfThem(t *testing.T) {
	objects, err := normalised(t, `
apiVersion: batch/v1
kind: Job
metadata:
  name: a
  annotations:
    shop.example.com/order: "-7"
    shop.example.com/purge-order: "-5"
    shop.example.com/purge-failed: "true"
    shop.example.com/reconcile-policy: once
    shop.example.com/phase: apply, pre-delete,post-delete
    shop.example.com/phase-order: "3"
`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objects {
		got = append(
			got,
			fmt.Sprintf(
				"%q at %d, purged %t, purged if failed %t, %s",
				o.Settings.Phase,
				o.Settings.Order,
				o.Settings.PurgeOrder != nil,
				o.Settings.PurgeFailed,
				o.Settings.ReconcilePolicy,
			),
		)
	}
	want := []string{
		`"" at -7, purged true, purged if failed true, once`,
		`"pre-delete" at 3, purged false, purged if failed true, `,
		`"post-delete" at 3, purged false, purged if failed true, `,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestNamesAreUniqueInAPhase(t *testing.T) {
	const manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {shop.example.com/phase: '%s'}}}"
	if _, err := normalised(t, fmt.Sprintf(manifest+"\n---\n"+manifest, "apply", "pre-delete")); err != nil {
		t.Errorf("a manifest in each of two phases: %v", err)
	}
	for _, phases := range []string{"pre-delete, pre-delete", "apply,,apply"} {
		if _, err := normalised(t, fmt.Sprintf(manifest, phases)); err == nil {
			t.Errorf("phases %q: no error", phases)
		}
	}
}

func TestAnObjectThatDoesItsWorkOnceMayBeDeletedAfterThat(t *testing.T) {
	const manifest = "{apiVersion: %s, kind: %s, metadata: {name: a, annotations: {%s}}, spec: {restartPolicy: %s}}"
	recreate, phase := "shop.example.com/update-policy: recreate", "shop.example.com/phase: pre-delete"
	for name, c := range map[string]struct {
		apiVersion, kind, annotation, restart string
		want                                  bool
	}{
		"a Job that is updated":               {"batch/v1", "Job", "", "Never", false},
		"a Job that is recreated":             {"batch/v1", "Job", recreate, "Never", true},
		"a Job of a phase":                    {"batch/v1", "Job", phase, "Never", true},
		"a Pod that is recreated":             {"v1", "Pod", recreate, "OnFailure", true},
		"a Pod that runs until it is deleted": {"v1", "Pod", recreate, "Always", false},
		"a ConfigMap that is recreated":       {"v1", "ConfigMap", recreate, "Never", false},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := normalised(
				t,
				fmt.Sprintf(manifest, c.apiVersion, c.kind, strings.TrimSpace(c.annotation), c.restart),
			)
			if err != nil {
				t.Fatal(err)
			}
			if got := objects[0].Ephemeral; got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
