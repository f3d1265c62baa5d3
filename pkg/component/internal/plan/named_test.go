package plan

import (
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestOwnersAreNamed(t *testing.T) {
	const uid = "6f0f1e2c"
	component := manifests.Key{Group: "fairlead.io", Kind: "Component", Namespace: "blue", Name: "shop"}
	ownedBy := func(namespace, name string) string {
		return manifests.Owner{
			Cluster: uid, Reconciler: "fairlead.io", Group: "fairlead.io", Kind: "Component",
			Namespace: namespace, Name: name,
		}.String()
	}
	key := manifests.Key{Kind: "ConfigMap", Namespace: "shared", Name: "settings"}
	for _, c := range []struct {
		name       string
		owner      string
		names      Names
		remote     bool
		want       string
		unanswered bool
	}{
		{"not before an answer", ownedBy("green", "secret-project"), Names{}, false, "another component", true},
		{
			"not without the right", ownedBy("green", "secret-project"),
			Names{Known: map[manifests.Key]bool{key: false}},
			false,
			"another component", true,
		},
		{
			"with the right", ownedBy("green", "web"),
			Names{Known: map[manifests.Key]bool{key: true}},
			false,
			"Component.fairlead.io green/web (reconciler fairlead.io)", true,
		},
		{
			"to a component that observes with its own rights", ownedBy("green", "web"),
			Names{All: true},
			false,
			"Component.fairlead.io green/web (reconciler fairlead.io)", true,
		},
		{
			"in the own namespace", ownedBy("blue", "web"),
			Names{},
			false,
			"Component.fairlead.io blue/web (reconciler fairlead.io)", false,
		},
		{
			"not in a namespace of the same name in another cluster", ownedBy("blue", "web"),
			Names{},
			true,
			"another component", true,
		},
		{
			"the component itself in another cluster", ownedBy("blue", "shop"),
			Names{},
			true,
			"Component.fairlead.io blue/shop (reconciler fairlead.io) in the cluster whose namespace kube-system has the " +
				"UID 6f0f1e2c", true,
		},
		{"no controller", "ReplicaSet secret-project-1", Names{}, false, "somebody else", true},
		{
			"a controller with the right", "ReplicaSet web-1",
			Names{Known: map[manifests.Key]bool{key: true}},
			false,
			"ReplicaSet web-1", true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := manifests.Object{Key: key}
			f := Facts{
				Owner: us, Component: component, RemoteTarget: c.remote, Names: c.names, Desired: []manifests.Object{o},
				Live: Snapshot{key: &Observed{Presence: Present, UID: "u", Owner: "theirs", OwnerName: c.owner}},
			}
			if got := ownerText(newCandidate(f, &o)); got != c.want {
				t.Errorf("the owner is called %q, want %q", got, c.want)
			}
			p := Plan{Waiting: []Waiting{
				{Key: key, Reason: WaitOwnershipConflict},
				{Key: manifests.Key{Kind: "Pod"}, Reason: WaitTimeout},
			}}
			if got := slices.Contains(p.Unnamed(f), key); got != c.unanswered {
				t.Errorf("the right is asked for: %t", got)
			}
		})
	}
}
