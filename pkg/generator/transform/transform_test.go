package transform_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/transform"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// check transforms manifests, and compares the result with the expected manifests.
func check(t *testing.T, transformer generator.Transformer, before, after string) {
	t.Helper()
	got, err := transformer.Transform(
		t.Context(),
		generator.Request{Namespace: "apps", Name: "shop"},
		decode(t, before),
	)
	if err != nil {
		t.Fatal(err)
	}
	want := decode(t, after)
	if difference := cmp.Diff(text(t, want), text(t, got)); difference != "" {
		t.Errorf("-want +got:\n%s", difference)
	}
}

func decode(t *testing.T, stream string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := manifests.Decode("test.yaml", []byte(stream))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func text(t *testing.T, objects []*unstructured.Unstructured) string {
	t.Helper()
	out, err := yaml.Marshal(objects)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

const workload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web, team: none}, annotations: {a: "1"}}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}
`

func TestLabelsAreSetOnObjectsAlone(t *testing.T) {
	check(t, transform.Labels(map[string]string{"team": "blue"}), workload, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web, team: blue}, annotations: {a: "1"}}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, labels: {team: blue}}}
`)
}

func TestAnnotationsAreSetOnObjectsAlone(t *testing.T) {
	check(t, transform.Annotations(map[string]string{"a": "2", "fairlead.io/order": "3"}), workload, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web, team: none}, annotations: {a: "2", fairlead.io/order: "3"}}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, annotations: {a: "2", fairlead.io/order: "3"}}}
`)
}

func TestNothingToSetChangesNothing(t *testing.T) {
	check(t, transform.Labels(nil), workload, workload)
}

func TestAServiceAccountIsReplacedWhereverAPodIsMade(t *testing.T) {
	const pods = `
{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {serviceAccountName: ACCOUNT}}
---
{apiVersion: v1, kind: PodTemplate, metadata: {name: a}, template: {spec: {serviceAccountName: ACCOUNT}}}
---
{apiVersion: v1, kind: ReplicationController, metadata: {name: a}, spec: {template: {spec: {serviceAccountName: ACCOUNT}}}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: a}, spec: {template: {spec: {serviceAccountName: ACCOUNT}}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: apps}, spec: {template: {spec: {serviceAccountName: ACCOUNT, serviceAccount: ACCOUNT}}}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}, spec: {template: {spec: {serviceAccountName: ACCOUNT}}}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a}, spec: {template: {spec: {serviceAccountName: ACCOUNT}}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {spec: {serviceAccountName: ACCOUNT}}}}
---
{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {jobTemplate: {spec: {template: {spec: {serviceAccountName: ACCOUNT}}}}}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a}, subjects: [{kind: ServiceAccount, name: ACCOUNT}, {kind: User, name: web}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: a}, subjects: [{kind: ServiceAccount, name: ACCOUNT, namespace: apps}]}
`
	check(t, transform.ServiceAccount("web", "shared"), replace(pods, "web"), replace(pods, "shared"))
}

func TestOtherServiceAccountsStay(t *testing.T) {
	const others = `
{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {serviceAccountName: other}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {}}
---
{apiVersion: v1, kind: Pod, metadata: {name: c, namespace: elsewhere}, spec: {serviceAccountName: web}}
---
{apiVersion: v1, kind: Pod, metadata: {name: d}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: web}}
---
{apiVersion: example.com/v1, kind: Deployment, metadata: {name: a}, spec: {template: {spec: {serviceAccountName: web}}}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a}, subjects: [{kind: ServiceAccount, name: web, namespace: elsewhere}, {kind: User, name: web}]}
`
	check(t, transform.ServiceAccount("web", "shared"), others, others)
}

func TestDefaultMeansPodsThatNameNoServiceAccount(t *testing.T) {
	check(t, transform.ServiceAccount("default", "shared"), `
{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {serviceAccount: web}}
`, `
{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {serviceAccountName: shared}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {serviceAccount: web}}
`)
}

func TestAVersionTellsTheConfiguration(t *testing.T) {
	seen := map[string]bool{}
	for _, transformer := range []generator.Transformer{
		transform.Labels(map[string]string{"a": "b"}), transform.Labels(map[string]string{"a": "c"}),
		transform.Annotations(map[string]string{"a": "b"}),
		transform.ServiceAccount("a", "b"), transform.ServiceAccount("b", "a"),
	} {
		versioner, ok := transformer.(generator.Versioner)
		if !ok {
			t.Fatalf("%T has no version", transformer)
		}
		if version := versioner.Version(); version == "" || seen[version] {
			t.Errorf("%T has the same version %q as another transformer", transformer, version)
		}
		seen[versioner.Version()] = true
	}
}

func replace(stream, account string) string { return strings.ReplaceAll(stream, "ACCOUNT", account) }

func TestDependenciesAreAdded(t *testing.T) {
	isDeployment := func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" }
	check(t, transform.DependsOn("fairlead.io", isDeployment,
		manifests.Key{Group: "apps", Kind: "StatefulSet", Name: "db"}, manifests.Key{
			Group: "apps", Kind: "Deployment",
			Name: "first",
		}), `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: first}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: second, annotations: {fairlead.io/depends-on: "@schema,StatefulSet.apps db"}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}
`, `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: first, annotations: {fairlead.io/depends-on: StatefulSet.apps db}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: second, annotations: {fairlead.io/depends-on: "@schema, StatefulSet.apps db, Deployment.apps first"}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}
`)
}

func TestAnInvalidListOfDependenciesIsRefused(t *testing.T) {
	all := func(*unstructured.Unstructured) bool { return true }
	_, err := transform.DependsOn("fairlead.io", all, manifests.Key{Kind: "Secret", Name: "a"}).Transform(
		t.Context(), generator.Request{},
		decode(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {fairlead.io/depends-on: "@"}}}`),
	)
	if err == nil || !strings.HasPrefix(err.Error(), "ConfigMap a: annotation fairlead.io/depends-on: at character 1: ") {
		t.Errorf("got %v", err)
	}
}
