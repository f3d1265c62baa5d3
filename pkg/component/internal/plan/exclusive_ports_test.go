package plan

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestARenamedObjectWithAnExclusivePortNamesTheObjectThatHoldsIt(t *testing.T) {
	const hostPort = "{template: {spec: {containers: [{ports: [{containerPort: 80}]}, {ports: [{hostPort: 8080}]}]}}}"
	const advice = " may hold its host port 8080, and is removed only when all dependents are ready: render it " +
		"once more with " +
		"the annotation fairlead.io/prune-policy: at-once, and then leave it out"
	old := metav1alpha1.InventoryEntry{Group: "apps", Version: "v1", Kind: "DaemonSet", Namespace: "shop", Name: "old"}
	atOnce := old
	atOnce.PrunePolicy = metav1alpha1.PruneAtOnce
	for name, c := range map[string]struct {
		kind, spec string
		removals   []metav1alpha1.InventoryEntry
		failure    *Failure
		want       string
	}{
		"a port of a node": {
			"DaemonSet", hostPort,
			[]metav1alpha1.InventoryEntry{old},
			nil,
			"; DaemonSet.apps shop/old" + advice,
		},
		"a pod in the node's network": {
			"DaemonSet", strings.ReplaceAll(hostPort, "{containers",
				"{hostNetwork: true, containers"),
			[]metav1alpha1.InventoryEntry{old},
			nil,
			"; DaemonSet.apps shop/old" + strings.ReplaceAll(advice, "8080", "80"),
		},
		"no port of a node": {
			"DaemonSet", strings.ReplaceAll(hostPort, "hostPort: 8080", "containerPort: 8080"),
			[]metav1alpha1.InventoryEntry{old},
			nil, "",
		},
		"nothing to remove":         {"DaemonSet", hostPort, nil, nil, ""},
		"an object of another kind": {"Deployment", hostPort, []metav1alpha1.InventoryEntry{old}, nil, ""},
		"an object that is removed": {"DaemonSet", hostPort, []metav1alpha1.InventoryEntry{atOnce}, nil, ""},
		"another failure": {
			"DaemonSet", hostPort,
			[]metav1alpha1.InventoryEntry{old},
			&Failure{Field: "spec.selector"}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var spec map[string]any
			if err := yaml.Unmarshal([]byte(c.spec), &spec); err != nil {
				t.Fatal(err)
			}
			key := manifests.Key{Group: "apps", Kind: c.kind, Namespace: "shop", Name: "new"}
			f := Facts{
				Adoptions: NewAdoptions(sceneOwner("here"), "shop", nil, ""),
				Desired:   []manifests.Object{{Key: key, Body: &unstructured.Unstructured{Object: map[string]any{"spec": spec}}}},
			}
			got := withHolders(f, []Waiting{{Key: key, Reason: WaitInProgress, Message: "0/1", Failure: c.failure}}, c.removals)
			if got[0].Message != "0/1"+c.want {
				t.Errorf("the message is %q", got[0].Message)
			}
		})
	}
}

func TestARenamedServiceWithANodePortNamesTheServiceThatHoldsIt(t *testing.T) {
	key := manifests.Key{Kind: "Service", Namespace: "shop", Name: "new"}
	f := Facts{
		Adoptions: NewAdoptions(sceneOwner("here"), "shop", nil, ""),
		Desired: []manifests.Object{{Key: key, Body: &unstructured.Unstructured{Object: map[string]any{
			"spec": map[string]any{"ports": []any{map[string]any{"port": int64(80), "nodePort": int64(30080)}}},
		}}}},
	}
	removals := []metav1alpha1.InventoryEntry{{Version: "v1", Kind: "Service", Namespace: "shop", Name: "old"}}
	refused := []Waiting{{
		Key: key, Message: "provided port is already allocated",
		Failure: &Failure{Field: "spec.ports[0].nodePort"},
	}}
	if got := withHolders(f, refused, removals)[0].Message; !strings.Contains(got,
		"; Service shop/old may hold its node port 30080, ") {
		t.Errorf("the message is %q", got)
	}
}
