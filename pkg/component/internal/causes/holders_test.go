package causes

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// user returns a Pod of namespace shop that uses the claim data, with more fields of its spec.
func user(name, meta, more string) string {
	return "{apiVersion: v1, kind: Pod, metadata: {namespace: shop, labels: {app: web}, name: " + name + meta +
		"}, spec: {volumes: " +
		"[{name: a, persistentVolumeClaim: {claimName: data}}]" + more + "}"
}

func TestWhatHoldsAnObjectIsNamed(t *testing.T) {
	const (
		going = ", deletionTimestamp: '2026-01-01T12:00:00Z'"
		node  = "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {conditions: [{type: Ready, status: 'Unknown', " +
			"message: kubelet stopped}]}}"
		web = "{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: web, uid: u}, spec: {selector: " +
			"{matchLabels: {app: web}}}}"
	)
	pod := manifests.Key{Kind: "Pod", Namespace: "shop", Name: "web-1"}
	claim := manifests.Key{Kind: "PersistentVolumeClaim", Namespace: "shop", Name: "data"}
	namespace := manifests.Key{Kind: "Namespace", Name: "shop"}
	for name, c := range map[string]struct {
		key       manifests.Key
		objects   []string
		forbidden string
		want      string
	}{
		"the pods that use a claim": {
			claim, []string{
				user("b", going, ", nodeName: n1}"), user("a", "", ", nodeName: n1}, status: {phase: Succeeded}"),
				user("unscheduled", "", "}"),
				"{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: other}, spec: {nodeName: n1}}",
			}, "", "pods that use it: a (Succeeded, node n1), b (it is being deleted, node n1)",
		},
		"some of many pods that use a claim": {
			claim, []string{
				user("a", "", ", nodeName: n1}"), user("b", "", ", nodeName: n1}"), user("c", "", ", nodeName: n1}"),
				user("d", "", ", nodeName: n1}"), user("e", "", ", nodeName: n1}"),
			}, "", "pods that use it: a (node n1), b (node n1), c (node n1) and 2 more",
		},
		"the pod whose volume a claim is": {
			manifests.Key{Kind: "PersistentVolumeClaim", Namespace: "shop", Name: "web-1-cache"},
			[]string{"{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: web-1}, spec: {nodeName: n1, volumes: " +
				"[{name: cache, ephemeral: {}}]}}"},
			"", "pods that use it: web-1 (node n1)",
		},
		"no pod": {claim, nil, "", ""},
		"the command that shows pods which may not be listed": {
			claim, nil, "pods", "kubectl get pods -o wide -n shop shows whether there are pods that use it",
		},
		"the pods of a workload": {
			manifests.Key{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"},
			[]string{web, user("web-1", going, ", nodeName: n1}")},
			"",
			"pods that still exist: web-1 (it is being deleted, node n1)",
		},
		"the command that shows the pods of a workload": {
			manifests.Key{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"},
			[]string{web},
			"pods",
			"kubectl get pods -o wide -n shop -l 'app=web' shows whether there are pods that still exist",
		},
		"the claim of a volume": {
			manifests.Key{Kind: "PersistentVolume", Name: "disk"},
			[]string{"{apiVersion: v1, kind: PersistentVolume, metadata: {name: disk, uid: u}, spec: {claimRef: {namespace: " +
				"shop, name: data}}}"},
			"", "it is bound to PersistentVolumeClaim shop/data",
		},
		"what a namespace says": {
			namespace,
			[]string{"{apiVersion: v1, kind: Namespace, metadata: {name: shop, uid: u}, status: {conditions: [" +
				"{type: NamespaceFinalizersRemaining, status: 'True', message: 'Some content has finalizers: x in 1 resource " +
				"instances'}, " +
				"{type: NamespaceContentRemaining, status: 'True', message: 'Some resources are remaining: pods. has 1 resource " +
				"instances'}, " +
				"{type: NamespaceDeletionContentFailure, status: 'False', message: All content successfully deleted}]}}"},
			"",
			"NamespaceContentRemaining: Some resources are remaining: pods. has 1 resource instances; " +
				"NamespaceFinalizersRemaining: Some content has finalizers: x in 1 resource instances",
		},
		"what a definition says": {
			manifests.Key{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "widgets.example.com"},
			[]string{"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: " +
				"widgets.example.com, uid: u}, " +
				"status: {conditions: [{type: Established, status: 'True', message: x}, {type: Terminating, status: " +
				"'True', message: " +
				"CustomResource deletion is in progress}]}}"},
			"", "Terminating: CustomResource deletion is in progress",
		},
		"a node that is not ready": {
			pod,
			[]string{user("web-1", going+", uid: u", ", nodeName: n1}"), node},
			"",
			"its node n1 is not ready: kubelet stopped",
		},
		"a node that does not exist": {
			pod, []string{user("web-1", going+", uid: u", ", nodeName: n1}")}, "", "its node n1 does not exist",
		},
		"the command that shows a node which may not be read": {
			pod,
			[]string{user("web-1", going+", uid: u", ", nodeName: n1}"), node},
			"nodes",
			"its node n1 has not stopped it; kubectl get node n1 shows whether the node is ready",
		},
		"nothing of another object with the name": {
			namespace, []string{"{apiVersion: v1, kind: Namespace, metadata: {name: shop, uid: other}}"}, "", "",
		},
		"nothing of other kinds": {manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: "a"}, nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewSimpleDynamicClient(clientgoscheme.Scheme, decoded(t, c.objects)...)
			client.PrependReactor("*", c.forbidden, func(a clienttesting.Action) (bool, runtime.Object, error) {
				resource := a.GetResource().GroupResource()
				return c.forbidden != "", nil, apierrors.NewForbidden(resource, "", nil)
			})
			if got := holderOf(t.Context(), client, Object{Key: c.key, UID: "u", Deleting: true}); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func decoded(t *testing.T, texts []string) (objects []runtime.Object) {
	t.Helper()
	for _, text := range texts {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), obj); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		objects = append(objects, obj)
	}
	return objects
}
