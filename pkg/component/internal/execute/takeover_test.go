package execute

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// takeOver returns an action that takes an object over from another owner.
func takeOver(from string, policy metav1alpha1.UpdatePolicy) plan.Action {
	verb := plan.VerbApply
	if policy == metav1alpha1.UpdateReplace {
		verb = plan.VerbReplace
	}
	a := action(verb, policy)
	a.Preconditions.Owner, a.Reason = from, plan.ReasonTakenOver
	a.Object.Body.SetAnnotations(map[string]string{reconciler + "/owner-id": "cluster/us"})
	return a
}

func TestATakeover(t *testing.T) {
	theirs, ours, read, patch := found(ownedByThem), found(nil), "GET "+single, "PATCH "+single
	for _, c := range []struct {
		name    string
		policy  metav1alpha1.UpdatePolicy
		answers []answer
		want    []string
		verb    plan.Verb
	}{
		{
			"patches label and annotations, then moves them to the apply entry and applies", metav1alpha1.UpdateSSAMerge,
			[]answer{theirs, ours, ours, ours},
			[]string{read, patch, read, patch},
			plan.VerbApply,
		},
		{
			"patches label and annotations, then replaces", metav1alpha1.UpdateReplace,
			[]answer{theirs, ours, found(ownedInPart), ours},
			[]string{read, patch, read, "PUT " + single},
			plan.VerbReplace,
		},
		{
			"is planned again if the owner has changed", metav1alpha1.UpdateSSAMerge,
			[]answer{ours, ours},
			[]string{read, read},
			plan.VerbRead,
		},
		{
			"is planned again if the object changed after the read", metav1alpha1.UpdateSSAMerge,
			[]answer{theirs, status(409, metav1.StatusReasonConflict), theirs},
			[]string{read, patch, read},
			plan.VerbRead,
		},
		{
			"is planned again if the object does not exist", metav1alpha1.UpdateSSAMerge,
			[]answer{status(404, metav1.StatusReasonNotFound), status(404, metav1.StatusReasonNotFound)},
			[]string{read, read},
			plan.VerbRead,
		},
		{
			"is planned again if the object has another UID", metav1alpha1.UpdateSSAMerge,
			[]answer{found(func(o *unstructured.Unstructured) {
				ownedByThem(o)
				o.SetUID("u2")
			}), theirs},
			[]string{read, read},
			plan.VerbRead,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &apiServer{answers: c.answers}
			e, _ := server.executor(t)
			got := e.Run(t.Context(), nil, []plan.Action{takeOver("them", c.policy)})[0]
			if diff := cmp.Diff(c.want, server.verbs()); diff != "" {
				t.Error(diff)
			}
			if got.Verb != c.verb || got.Failure != nil {
				t.Errorf("the action has the verb %s and the failure %+v", got.Verb, got.Failure)
			}
		})
	}
}

func TestTakeoverPatchReplacesTheOwner(t *testing.T) {
	live := &unstructured.Unstructured{Object: map[string]any{}}
	live.SetUID("u1")
	live.SetResourceVersion("7")
	live.SetLabels(map[string]string{"them.example.com/owner-id": "1", "team": "blue", "looks.like/owner-id": "x"})
	live.SetAnnotations(map[string]string{
		"them.example.com/owner-id": "cluster/them", "them.example.com/digest": "d", "them.example.com/order": "1",
		"them.example.com/note": "x",
		"note":                  "y",
	})
	boss := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "boss", UID: "b", Controller: new(true)}
	friend := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "friend", UID: "f"}
	live.SetOwnerReferences([]metav1.OwnerReference{boss, friend})
	want := map[string]any{
		"uid": "u1", "resourceVersion": "7",
		"labels": map[string]any{"them.example.com/owner-id": nil, reconciler + "/owner-id": "us"},
		"annotations": map[string]any{
			"them.example.com/owner-id": nil, "them.example.com/digest": nil, "them.example.com/order": nil,
			reconciler + "/owner-id": "cluster/us",
		},
		"ownerReferences": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "friend", "uid": "f"}},
	}
	got := plain(t, takeoverPatch(live, takeOver("them", ""), reconciler))
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Error(diff)
	}
}

func TestAnAdoptionIsPlannedAgainIfAnotherToolMarkedTheObject(t *testing.T) {
	marked := found(func(o *unstructured.Unstructured) {
		o.SetLabels(nil)
		o.SetAnnotations(map[string]string{"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"})
	})
	read := "GET " + single
	for _, policy := range []metav1alpha1.UpdatePolicy{metav1alpha1.UpdateSSAOverride, metav1alpha1.UpdateReplace} {
		t.Run(string(policy), func(t *testing.T) {
			a := takeOver("", policy)
			a.Reason, a.AdoptedFrom, a.Migrate = plan.ReasonListed, "field manager kubectl-create", a.Verb == plan.VerbApply
			server := &apiServer{answers: []answer{marked, marked}}
			e, _ := server.executor(t)
			got := e.Run(t.Context(), nil, []plan.Action{a})[0]
			if diff := cmp.Diff([]string{read, read}, server.verbs()); diff != "" {
				t.Error(diff)
			}
			if got.Verb != plan.VerbRead || got.Failure != nil {
				t.Errorf("the result is %v, %v, want a read", got.Verb, got.Failure)
			}
		})
	}
}

func TestTheMarksThatAnActionRemoves(t *testing.T) {
	const release, namespace, labelled = "meta.helm.sh/release-name", "meta.helm.sh/release-namespace",
		"app.kubernetes.io/managed-by"
	const released = reconciler + "/released-by"
	live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	live.SetLabels(map[string]string{labelled: "Helm", "team": "blue"})
	live.SetAnnotations(map[string]string{release: "web", namespace: "shop", "note": "x", released: "them"})
	for _, c := range []struct {
		name                string
		reason              plan.Reason
		labels, annotations map[string]string
		want                []string
	}{
		{"all of an adopted object", plan.ReasonAdopted, nil, nil, []string{labelled, release, namespace, released}},
		{"all of a listed object", plan.ReasonListed, nil, nil, []string{labelled, release, namespace, released}},
		{
			"all of an object of another owner", plan.ReasonTakenOver, nil, nil,
			[]string{labelled, release, namespace, released},
		},
		{"all of an object of another cluster", plan.ReasonMoved, nil, nil, []string{labelled, release, namespace, released}},
		{
			"those that the manifest does not set", plan.ReasonListed,
			map[string]string{labelled: "Helm"},
			map[string]string{namespace: "other"},
			[]string{release, released},
		},
		{
			"all of an object that the component released", plan.ReasonReleased, nil, nil,
			[]string{labelled, release, namespace, released},
		},
		{"none of a changed object that is ours", plan.ReasonChanged, nil, nil, nil},
		{"none of an object whose label is restored", plan.ReasonUnlabelled, nil, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := action(plan.VerbApply, metav1alpha1.UpdateSSAOverride)
			a.Reason = c.reason
			a.Object.Body.SetLabels(c.labels)
			a.Object.Body.SetAnnotations(c.annotations)
			marks := removedMarks(live, a, reconciler)
			got := slices.Sorted(slices.Values(slices.Concat(marks.Labels, marks.Annotations)))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnAdoptionNeedsTheMarksOfItsPlan(t *testing.T) {
	const us, helm = "us", "the Helm release web"
	for _, c := range []struct {
		name   string
		reason plan.Reason
		from   string
		mark   *plan.ToolMark
		want   bool
	}{
		{
			"the mark of the release is still there", plan.ReasonReleased, plan.FromNobody,
			&plan.ToolMark{ReleasedBy: us}, false,
		},
		{"somebody removed the mark of the release", plan.ReasonReleased, plan.FromNobody, &plan.ToolMark{}, true},
		{
			"another component released the object since", plan.ReasonReleased, plan.FromNobody,
			&plan.ToolMark{ReleasedBy: "them"}, true,
		},
		{
			"another tool marked a released object", plan.ReasonReleased, plan.FromNobody,
			&plan.ToolMark{ReleasedBy: us, By: helm}, true,
		},
		{
			"another tool marked an object that nobody had", plan.ReasonAdopted, plan.FromNobody,
			&plan.ToolMark{By: helm}, true,
		},
		{"another tool marked a listed object", plan.ReasonListed, "field manager kubectl", &plan.ToolMark{By: helm}, true},
		{"another tool marked a marked object", plan.ReasonListed, "a kapp application", &plan.ToolMark{By: helm}, true},
		{"the tool is the one of the plan", plan.ReasonListed, helm, &plan.ToolMark{By: helm}, false},
		{"an earlier request of the action has adopted the object", plan.ReasonAdopted, helm, nil, false},
		{"an object that is ours may have any mark", plan.ReasonChanged, "", &plan.ToolMark{By: helm}, false},
		{"an object of another owner may have any mark", plan.ReasonTakenOver, "them", &plan.ToolMark{By: helm}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := action(plan.VerbApply, metav1alpha1.UpdateSSAOverride)
			a.Reason, a.Owner, a.AdoptedFrom, a.Preconditions.Owner = c.reason, us, c.from, us
			if got := isMarkedSince(&plan.Observed{Mark: c.mark}, a); got != c.want {
				t.Errorf("the object counts as marked since the plan: %t, want %t", got, c.want)
			}
		})
	}
}
