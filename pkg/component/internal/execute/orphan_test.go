package execute

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestOrphanSendsOnePatch(t *testing.T) {
	orphaned := found(func(o *unstructured.Unstructured) { o.SetLabels(nil) })
	read, patched := "GET "+single, "PATCH "+single
	for _, c := range []struct {
		name     string
		answers  []answer
		want     []string
		verb     plan.Verb
		presence plan.Presence
		failure  plan.WaitReason
	}{
		{
			"removes our label and annotations after a read",
			[]answer{found(nil), orphaned},
			[]string{read, patched},
			plan.VerbOrphan, plan.Present, "",
		},
		{
			"accepts that the object does not exist",
			[]answer{status(404, metav1.StatusReasonNotFound)},
			[]string{read},
			plan.VerbOrphan, plan.Absent, "",
		},
		{
			"accepts that the object was deleted after the read",
			[]answer{found(nil), status(404, metav1.StatusReasonNotFound)},
			[]string{read, patched},
			plan.VerbOrphan, plan.Absent, "",
		},
		{
			"reads an object that changed after the read",
			[]answer{found(nil), status(409, metav1.StatusReasonConflict), found(nil)},
			[]string{read, patched, read},
			plan.VerbRead, plan.Present, "",
		},
		{
			"does not change an object of another owner",
			[]answer{found(ownedByThem), found(ownedByThem)},
			[]string{read, read},
			plan.VerbRead, plan.Present, "",
		},
		{
			"does not change an object with another UID",
			[]answer{found(func(o *unstructured.Unstructured) { o.SetUID("u2") }), found(nil)},
			[]string{read, read},
			plan.VerbRead, plan.Present, "",
		},
		{
			"returns the reason of a failure",
			[]answer{found(nil), status(403, metav1.StatusReasonForbidden)},
			[]string{read, patched},
			plan.VerbOrphan, plan.Unknown, "Forbidden",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &apiServer{answers: c.answers}
			e, _ := server.executor(t)
			a := action(plan.VerbOrphan, "")
			a.Object = nil
			got := e.Run(t.Context(), nil, []plan.Action{a})[0]
			if diff := cmp.Diff(c.want, server.verbs()); diff != "" {
				t.Fatal(diff)
			}
			checkResult(t, got, c.verb, c.presence, c.failure)
		})
	}
}

func ownedByThem(o *unstructured.Unstructured) {
	o.SetLabels(map[string]string{reconciler + "/owner-id": "them"})
}

// The watch reports an orphaned object as deleted. The tracker must already have this state, so that the event starts
// no pass.
func TestAnOrphanIsStoredAsAbsent(t *testing.T) {
	server := &apiServer{answers: []answer{found(nil), found(func(o *unstructured.Unstructured) { o.SetLabels(nil) })}}
	e, tracker := server.executor(t)
	a := action(plan.VerbOrphan, "")
	a.Object = nil
	e.Run(t.Context(), nil, []plan.Action{a})
	if len(tracker.answers) != 1 || tracker.answers[0] == nil || tracker.answers[0].Presence != plan.Absent ||
		tracker.answers[0].UID != "u1" {
		t.Errorf("the executor did not pass the absent object to the tracker, but %+v", tracker.answers)
	}
}

func TestOrphanPatchRemovesManagedFields(t *testing.T) {
	entry := func(manager, subresource string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager:     manager,
			Operation:   metav1.ManagedFieldsOperationApply,
			Subresource: subresource,
		}
	}
	theirs, status := entry("kubectl", ""), entry(reconciler, "status")
	for _, c := range []struct {
		name    string
		entries []metav1.ManagedFieldsEntry
		want    any
	}{
		{"removes our entries", []metav1.ManagedFieldsEntry{entry(reconciler, ""), theirs, status}, []any{theirs, status}},
		{
			"removes all entries by an empty entry", []metav1.ManagedFieldsEntry{entry(reconciler, "")}, []any{map[string]any{}},
		},
		{"keeps the entries of others", []metav1.ManagedFieldsEntry{theirs}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &apiServer{answers: []answer{found(func(o *unstructured.Unstructured) {
				o.SetLabels(map[string]string{reconciler + "/owner-id": "us", "team": "blue"})
				o.SetAnnotations(map[string]string{
					reconciler + "/owner-id": "us", reconciler + "/digest": "d", reconciler + "/delete-policy": "orphan",
					reconciler + "/reconcile-requested-at": "now", "other.example.com/owner-id": "x",
				})
				o.SetManagedFields(c.entries)
			}), found(nil)}}
			e, _ := server.executor(t)
			a := action(plan.VerbOrphan, "")
			a.Object = nil
			e.Run(t.Context(), nil, []plan.Action{a})
			metadata := map[string]any{
				"uid": "u1", "resourceVersion": "7",
				"labels": map[string]any{reconciler + "/owner-id": nil},
				"annotations": map[string]any{
					reconciler + "/owner-id":      nil,
					reconciler + "/digest":        nil,
					reconciler + "/delete-policy": nil,
				},
			}
			if c.want != nil {
				metadata["managedFields"] = plain(t, c.want)
			}
			patch := server.requests[1]
			if diff := cmp.Diff(map[string]any{"metadata": metadata}, patch.body); diff != "" {
				t.Error(diff)
			}
			if patch.contentType != "application/merge-patch+json" {
				t.Error(patch.contentType)
			}
		})
	}
}

// plain encodes a value as JSON and decodes it again.
func plain(t *testing.T, value any) any {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOrphanPatchNamesTheComponentThatReleasedTheObject(t *testing.T) {
	us := manifests.Owner{Cluster: "c", Reconciler: reconciler, Kind: "Shop", Namespace: "a", Name: "us"}
	them := us
	them.Name = "them"
	for _, c := range []struct {
		name, annotation string
		want             any
	}{
		{"if the object names it", us.String(), us.String()},
		{"unless the object names another component", them.String(), nil},
		{"unless the object names none", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			live := &unstructured.Unstructured{Object: map[string]any{}}
			live.SetAnnotations(map[string]string{
				reconciler + "/owner-id": c.annotation, reconciler + "/released-by": them.String(),
			})
			patch := orphanPatch(live, plan.Action{Owner: us.ID()}, reconciler)
			want := map[string]any{reconciler + "/owner-id": nil, reconciler + "/released-by": c.want}
			if diff := cmp.Diff(want, patch["annotations"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}
