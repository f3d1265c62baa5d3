package tree

import (
	"slices"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/typeset"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// AddUnrecorded adds nodes for dependents that are not in the inventory because the API server does not serve their
// kind. The inventory cannot contain them, because it is not known whether the kind is namespaced. waiting is the list
// of waiting dependents in the component's status, which is shortened if there are many.
func AddUnrecorded(nodes []Node, waiting []metav1alpha1.DependentReport) []Node {
	recorded := make(map[manifests.Key]bool, len(nodes))
	for _, n := range nodes {
		recorded[n.Key] = true
	}
	all := slices.Clone(nodes)
	for _, w := range waiting {
		key, ok := manifests.ParseKey(w.Dependent)
		if !ok || recorded[key] || w.Reason != ReasonNotServed {
			continue
		}
		all = append(all, Node{
			Key:     key,
			Wave:    int(w.Wave),
			Stage:   typeset.StageOf(key.GroupKind(), nil),
			State:   result.NodeUnknown,
			Reason:  ReasonNotServed,
			Message: w.Message,
		})
	}
	slices.SortFunc(all, compareNodes)
	return all
}

// AddFailures returns the nodes with the failures of the last writes, so that no dependent with a failure is Ready.
// waiting is the list of waiting dependents in the component's status. A node that is Ready becomes NotUpdated, with
// the reason and the message of the failure. A node in another state keeps its state, and gets the failure as well. A
// node that is held up by a dependency, a condition or an exported value keeps its state, and gets the message about
// it. So does a node that is being deleted, because the operator finds out what holds it.
func AddFailures(nodes []Node, waiting []metav1alpha1.DependentReport) []Node {
	failures, held := map[string]metav1alpha1.DependentReport{}, map[string]metav1alpha1.DependentReport{}
	for _, w := range waiting {
		switch reason := plan.WaitReason(w.Reason); {
		case result.IsHoldUp(w), reason == plan.WaitTimeout, reason == plan.WaitNotGone, reason == plan.WaitTerminating:
			held[w.Dependent] = w
		}
		if plan.WaitReason(w.Reason).IsRefusal() {
			failures[w.Dependent] = w
		}
	}
	all := slices.Clone(nodes)
	for i := range all {
		n := &all[i]
		if w, isHeld := held[n.Key.String()]; isHeld {
			n.addHoldUp(w)
			continue
		}
		failure, failed := failures[n.Key.String()]
		if !failed {
			continue
		}
		switch n.State {
		case result.NodeReady:
			n.State, n.Reason, n.Message = result.NodeNotUpdated, failure.Reason, failure.Message
		case result.NodeInProgress, result.NodeFailed:
			n.Reason, n.Message = failure.Reason, "not updated: "+failure.Message+"; "+n.Message
		case result.NodeNotUpdated, result.NodeTerminating, result.NodeCompleted, result.NodeMissing, result.NodeUnknown:
		}
	}
	return all
}

// addHoldUp adds the report on a node that is held up: the object does not exist yet, or is not updated.
func (n *Node) addHoldUp(w metav1alpha1.DependentReport) {
	switch {
	case n.State == result.NodeMissing && n.Reason == ReasonNotCreated:
		n.Reason, n.Message = w.Reason, w.Message
	case n.State == result.NodeReady && result.IsHoldUp(w):
		n.Reason, n.Message = w.Reason, "not updated yet: "+w.Message
	case n.State == result.NodeTerminating && w.Message != "":
		n.Message = w.Message
	}
}
