package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// liveObjects is a reader that returns an error, or an object with the given content, by the name of the object.
type liveObjects map[string]any

func (l liveObjects) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	gvk := obj.GetObjectKind().GroupVersionKind()
	switch answer := l[key.Name].(type) {
	case error:
		return answer
	case map[string]any:
		if u, ok := obj.(*unstructured.Unstructured); ok {
			u.Object = answer
			u.SetGroupVersionKind(gvk)
		}
		metadata, _ := answer["metadata"].(map[string]any)
		if uid, ok := metadata["uid"].(string); ok {
			obj.SetUID(types.UID(uid))
		}
		if metadata["deletionTimestamp"] != nil {
			obj.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
		}
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
}

func live(uid string, fields map[string]any) map[string]any {
	obj := map[string]any{"metadata": map[string]any{"uid": uid, "generation": int64(1)}}
	maps.Copy(obj, fields)
	return obj
}

func inventoryOf(t *testing.T, lines ...string) []metav1alpha1.InventoryEntry {
	t.Helper()
	entries, err := metav1alpha1.ParseInventory(lines)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func TestTreeTellsTheStateOfEachDependent(t *testing.T) {
	notServed := &meta.NoKindMatchError{
		GroupKind:        schema.GroupKind{Group: "demo.example.com", Kind: "Widget"},
		SearchedVersions: []string{"v1"},
	}
	notServedAnymore := apierrors.NewGenericServerResponse(404, "GET", schema.GroupResource{Resource: "widgets"}, "x",
		"404 page not found", 0, true)
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "x", errors.New("no"))
	deployment := func(ready int64) map[string]any {
		return map[string]any{
			"spec": map[string]any{"replicas": int64(2)},
			"status": map[string]any{
				"observedGeneration": int64(1), "replicas": int64(2), "updatedReplicas": int64(2), "readyReplicas": ready,
				"availableReplicas": ready,
				"conditions":        []any{map[string]any{"type": "Available", "status": "True"}},
			},
		}
	}
	deleted := map[string]any{"metadata": map[string]any{"uid": "1", "deletionTimestamp": "1970-01-01T00:00:01Z"}}

	for name, c := range map[string]struct {
		entry  string
		answer any
		want   tree.Node
	}{
		"ready": {
			"apps/v1/Deployment/shop/x u=1", live("1", deployment(2)),
			tree.Node{State: result.NodeReady, UID: "1"},
		},
		"in progress, with the reason": {
			"apps/v1/Deployment/shop/x u=1", live("1", deployment(1)),
			tree.Node{State: result.NodeInProgress, UID: "1", Message: "Available: 1/2"},
		},
		"being deleted": {"/v1/Service/shop/x u=1", deleted, tree.Node{
			State: result.NodeTerminating,
			UID:   "1", Message: "it is being deleted",
		}},
		"a Secret": {
			"/v1/Secret/shop/x u=1", live("1", nil),
			tree.Node{State: result.NodeReady, UID: "1"},
		},
		"a Secret being deleted": {"/v1/Secret/shop/x u=1", deleted, tree.Node{
			State: result.NodeTerminating,
			UID:   "1", Message: "it is being deleted",
		}},
		"missing": {
			"/v1/ConfigMap/shop/x u=1", nil,
			tree.Node{State: result.NodeMissing, Reason: tree.ReasonNotFound, Message: "it does not exist"},
		},
		"purged": {
			"/v1/ConfigMap/shop/x d=1 c=true", nil,
			tree.Node{State: result.NodeCompleted},
		},
		"not created yet": {
			"/v1/ConfigMap/shop/x", nil,
			tree.Node{State: result.NodeMissing, Reason: tree.ReasonNotCreated, Message: "it was not created yet"},
		},
		"without a recorded write": {
			"/v1/ConfigMap/shop/x", live("2", nil),
			tree.Node{
				State: result.NodeUnknown, UID: "2", Reason: tree.ReasonNotRecorded,
				Message: "an object with this name exists, but the inventory shows no write to it yet",
			},
		},
		"replaced": {
			"/v1/ConfigMap/shop/x u=1", live("2", nil),
			tree.Node{
				State: result.NodeMissing, UID: "2", Reason: tree.ReasonReplaced,
				Message: "the recorded object (UID 1) no longer exists; another object (UID 2) has its name now",
			},
		},
		"forbidden": {
			"/v1/ConfigMap/shop/x u=1", forbidden,
			tree.Node{State: result.NodeUnknown, Reason: tree.ReasonForbidden, Message: forbidden.Error()},
		},
		"of a kind that is not served": {
			"demo.example.com/v1/Widget/shop/x u=1", notServed,
			tree.Node{
				State: result.NodeUnknown, Reason: tree.ReasonNotServed,
				Message: "the API server does not serve Widget.demo.example.com, version v1",
			},
		},
		"of a kind that is no longer served": {
			"demo.example.com/v1/Widget/shop/x u=1", notServedAnymore,
			tree.Node{
				State: result.NodeUnknown, Reason: tree.ReasonNotServed,
				Message: "the API server does not serve Widget.demo.example.com, version v1",
			},
		},
		"not readable for another reason": {
			"/v1/ConfigMap/shop/x u=1", errors.New("connection reset"),
			tree.Node{State: result.NodeUnknown, Reason: tree.ReasonNotRead, Message: "connection reset"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			nodes, err := tree.Read(t.Context(), liveObjects{"x": c.answer}, inventoryOf(t, c.entry))
			if err != nil || len(nodes) != 1 {
				t.Fatalf("want one node, got %v, %v", nodes, err)
			}
			got := tree.Node{State: nodes[0].State, UID: nodes[0].UID, Reason: nodes[0].Reason, Message: nodes[0].Message}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTreeShowsWhatIsWaitedForOfKindsThatAreNotServed(t *testing.T) {
	nodes, err := tree.Read(t.Context(), liveObjects{},
		inventoryOf(t, "/v1/ConfigMap/shop/a", "apps/v1/Deployment/shop/web o=2"))
	if err != nil {
		t.Fatal(err)
	}
	const message = "Widget.example.com is not served, and nothing here defines it; install what defines version v1"
	nodes = tree.AddUnrecorded(nodes, []metav1alpha1.DependentReport{
		{Dependent: "Deployment.apps shop/web", Wave: 2, Reason: "InProgress"},
		{Dependent: "ConfigMap shop/a", Reason: "KindNotServed", Message: "in the inventory, so this report is ignored"},
		{Dependent: "Widget.example.com w", Wave: 1, Reason: "KindNotServed", Message: message},
		{Dependent: "what is this?", Reason: "KindNotServed"},
	})
	var got []string
	for _, n := range nodes {
		got = append(got, fmt.Sprintf("%d %s %s %s %s", n.Wave, n.Key, n.State, n.Reason, n.Message))
	}
	want := []string{
		"0 ConfigMap shop/a Missing NotCreated it was not created yet",
		"1 Widget.example.com w Unknown KindNotServed " + message,
		"2 Deployment.apps shop/web Missing NotCreated it was not created yet",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTreeIsOrderedByWaveStageKindNamespaceAndName(t *testing.T) {
	nodes, err := tree.Read(t.Context(), liveObjects{}, inventoryOf(t,
		"demo.example.com/v1/Aardvark/shop/instance",
		"apps/v1/Deployment/shop/b",
		"apps/v1/Deployment/shop/a",
		"apps/v1/Deployment/api/z",
		"/v1/Secret/shop/s",
		"/v1/ConfigMap/shop/c",
		"/v1/Namespace//shop",
		"apiextensions.k8s.io/v1/CustomResourceDefinition//aardvarks.demo.example.com t=Aardvark.demo.example.com",
		"/v1/Service/shop/first o=-1",
		"/v1/Namespace//last o=5",
	))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range nodes {
		got = append(got, n.Key.String())
	}
	want := []string{
		"Service shop/first",
		"Namespace shop",
		"CustomResourceDefinition.apiextensions.k8s.io aardvarks.demo.example.com",
		"ConfigMap shop/c",
		"Secret shop/s",
		"Deployment.apps api/z",
		"Deployment.apps shop/a",
		"Deployment.apps shop/b",
		"Aardvark.demo.example.com shop/instance",
		"Namespace last",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTreeReadsSixteenAtATime(t *testing.T) {
	var lines []string
	for range 200 {
		lines = append(lines, "/v1/ConfigMap/shop/x u=1")
	}
	r := &countingReader{}
	r.together.Add(16)
	if _, err := tree.Read(t.Context(), r, inventoryOf(t, lines...)); err != nil {
		t.Fatal(err)
	}
	if r.all.Load() != 200 || r.most.Load() != 16 {
		t.Errorf("want 200 reads, at most 16 at a time; got %d and %d", r.all.Load(), r.most.Load())
	}
}

func TestTreeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tree.Read(ctx, liveObjects{}, inventoryOf(t, "/v1/ConfigMap/shop/x")); !errors.Is(err, context.Canceled) {
		t.Errorf("Tree with a cancelled context returned %v, want context.Canceled", err)
	}
}

// countingReader counts reads, and the maximum number of concurrent reads. The first 16 reads wait for each other.
type countingReader struct {
	all, now, most atomic.Int32
	together       sync.WaitGroup
}

func (r *countingReader) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	defer r.now.Add(-1)
	if now := r.now.Add(1); now > r.most.Load() {
		r.most.Store(now)
	}
	if r.all.Add(1) <= 16 {
		r.together.Done()
		r.together.Wait()
	}
	return errors.New("no")
}

func TestADependentWhoseUpdateWasRefusedIsNeverReady(t *testing.T) {
	at := func(name string, state result.NodeState, reason, message string) tree.Node {
		key := manifests.Key{Kind: "Service", Namespace: "shop", Name: name}
		return tree.Node{Key: key, State: state, Reason: reason, Message: message}
	}
	report := func(name, reason string) metav1alpha1.DependentReport {
		return metav1alpha1.DependentReport{Dependent: "Service shop/" + name, Reason: reason, Message: "why"}
	}
	nodes := []tree.Node{
		at("refused", result.NodeReady, "", ""), at("slow", result.NodeInProgress, "", "0/1"),
		at("fine", result.NodeReady, "", ""), at("ready by now", result.NodeReady, "", ""),
		at("conflict", result.NodeReady, "", ""), at("missing", result.NodeMissing, tree.ReasonNotFound, "it does not exist"),
	}
	got := tree.AddFailures(nodes, []metav1alpha1.DependentReport{
		report("refused", "Invalid"), report("slow", "SomeNewReason"), report("ready by now", "InProgress"),
		report("conflict", result.ReportRepairConflict), report("missing", "Forbidden"),
	})
	want := slices.Clone(nodes)
	want[0] = at("refused", result.NodeNotUpdated, "Invalid", "why")
	want[1] = at("slow", result.NodeInProgress, "SomeNewReason", "not updated: why; 0/1")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
