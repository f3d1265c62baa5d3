package tree

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/logging"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	internalstatus "github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ExternalRecord is the recorded state of a dependent outside Kubernetes.
type ExternalRecord struct {
	Key manifests.Key
	// ID is the id in the external system. It is empty if the external was not created yet, or if the result of its
	// creation is not known.
	ID string
	// Token is the token of the attempts to create the external.
	Token string
	// Creating is set if the result of the creation is not stored, and Deleting if the external is being deleted. Since
	// is the time when the intent was stored.
	Creating, Deleting bool
	Since              time.Time
	// Gone is set if the external was deleted, or released.
	Gone bool
	// Manifest is the manifest that was applied last, or is being created. It is empty if no manifest was applied.
	Manifest json.RawMessage
	// Damage says why the record cannot be used; empty if it can be.
	Damage string
}

// ExternalRecords reads the recorded states of the externals of a component, in the order of their keys. obj is the
// component, with its apiVersion and kind, and status its status. reader reads the Secrets with the states in the
// cluster of the component, so it needs the right to get them. Without any record the result is empty.
func ExternalRecords(
	ctx context.Context, reader Reader, obj client.Object, status *metav1alpha1.Status,
) ([]ExternalRecord, error) {
	owner, namespace := externalsOwner(obj, status)
	if owner.Cluster == "" || owner.Reconciler == "" {
		return nil, nil // No pass has stored anything.
	}
	get := func(ctx context.Context, name types.NamespacedName) (*unstructured.Unstructured, error) {
		secret := &unstructured.Unstructured{}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		return secret, reader.Get(ctx, name, secret)
	}
	record, err := externalstate.Read(logging.Context(ctx), get, owner, namespace)
	if err != nil {
		return nil, fmt.Errorf("read the states of externals: %w", err)
	}
	var found []ExternalRecord
	for key, state := range record.States() {
		found = append(found, ExternalRecord{
			Key: key, ID: state.ID, Token: state.Token, Since: state.Since, Gone: state.Gone, Manifest: state.Manifest,
			Creating: state.Intent == externalstate.IntentCreate, Deleting: state.Intent == externalstate.IntentDelete,
		})
	}
	for key, damage := range record.Damaged() {
		found = append(found, ExternalRecord{Key: key, Damage: damage.String()})
	}
	slices.SortFunc(found, func(a, b ExternalRecord) int { return a.Key.Compare(b.Key) })
	return found, nil
}

// externalsOwner returns the owner of the externals of a component, and the namespace of their Secrets.
func externalsOwner(obj client.Object, status *metav1alpha1.Status) (manifests.Owner, string) {
	gvk := obj.GetObjectKind().GroupVersionKind()
	cluster, _, _ := strings.Cut(status.Identity, "/")
	namespace := cmp.Or(obj.GetNamespace(), metav1.NamespaceSystem)
	if obj.GetNamespace() == "" && status.HasInventoryRecord() {
		namespace = status.InventoryRecord.Namespace
	}
	return manifests.Owner{
		Cluster: cluster, Reconciler: status.Reconciler, Group: gvk.Group, Kind: gvk.Kind,
		Namespace: obj.GetNamespace(), Name: obj.GetName(),
	}, namespace
}

// AddExternals returns the nodes with the states of the externals, as the operator reported them in the status. Only
// the operator asks externals, so Tree does not know their states. An external that the status does not list as waiting
// is Ready if the list is complete; otherwise its state stays unknown.
func AddExternals(nodes []Node, status *metav1alpha1.Status) []Node {
	waiting := map[string]metav1alpha1.DependentReport{}
	for _, w := range status.Waiting {
		waiting[w.Dependent] = w
	}
	complete := namesAllWaiting(status)
	all := slices.Clone(nodes)
	for i := range all {
		n := &all[i]
		if !n.Key.IsExternal() || n.State != result.NodeUnknown || n.Reason != ReasonNotAsked {
			continue
		}
		w, waits := waiting[n.Key.String()]
		switch {
		case waits && w.Reason == result.ReportDependency && n.UID != "":
			n.State, n.Reason, n.Message = result.NodeReady, w.Reason, "not updated yet: "+w.Message
		case waits:
			n.State, n.Reason, n.Message = externalState(w), w.Reason, w.Message
		case complete && n.UID != "":
			n.State, n.Reason, n.Message = result.NodeReady, "", ""
		}
	}
	return all
}

// namesAllWaiting reports whether the status names all dependents that wait. It does not if there are too many of them,
// or if the last pass ended before it had a look at the dependents.
func namesAllWaiting(status *metav1alpha1.Status) bool {
	ready := meta.FindStatusCondition(status.Conditions, metav1alpha1.ConditionReady)
	if ready == nil || len(status.Waiting) >= internalstatus.MaxReports {
		return false
	}
	switch ready.Reason {
	case metav1alpha1.ReasonReady, metav1alpha1.ReasonDependentsNotReady, metav1alpha1.ReasonDependentFailed,
		metav1alpha1.ReasonCreateUncertain, metav1alpha1.ReasonRepairConflict, metav1alpha1.ReasonOwnershipConflict,
		metav1alpha1.ReasonRenderingIncomplete, metav1alpha1.ReasonKindNotServed, metav1alpha1.ReasonTimeout,
		metav1alpha1.ReasonDependentsNotGone, metav1alpha1.ReasonDeleting:
		return true
	}
	return false
}

// externalState returns the state of an external that is reported as waiting.
func externalState(w metav1alpha1.DependentReport) result.NodeState {
	switch reason := plan.WaitReason(w.Reason); {
	case reason.IsRefusal():
		return result.NodeFailed
	case reason == plan.WaitAbsent, reason == plan.WaitDependency:
		return result.NodeMissing
	case reason == plan.WaitTerminating:
		return result.NodeTerminating
	case reason == plan.WaitInProgress:
		return result.NodeInProgress
	}
	return result.NodeUnknown
}
