package normalise

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// inOccurrences returns a copy of a manifest for each order that its annotation lists. The n-th copy has the n-th order
// and the n-th purge order. A manifest of a phase of the deletion can have only one order.
func inOccurrences(
	reconciler string, bodies []*unstructured.Unstructured, budget *copyBudget,
) (expanded []*unstructured.Unstructured, err error) {
	expanded = make([]*unstructured.Unstructured, 0, len(bodies))
	var errs []error
	for i, body := range bodies {
		annotations := body.GetAnnotations()
		phase, named := annotations[reconciler+"/"+manifests.AnnotationPhase], ""
		for _, name := range []string{manifests.AnnotationOrder, manifests.AnnotationApplyOrder} {
			if strings.Contains(annotations[reconciler+"/"+name], separator) {
				named = reconciler + "/" + name
			}
		}
		if named == "" || phase != "" && phase != "apply" {
			expanded = append(expanded, body)
			continue
		}
		if err := budget.spend(body, named, annotations[named], maxOrders); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", describe(body, i), err))
			continue
		}
		copies, err := perOrder(body, named, reconciler+"/"+manifests.AnnotationPurgeOrder)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", describe(body, i), err))
			continue
		}
		expanded = append(expanded, copies...)
	}
	return expanded, errors.Join(errs...)
}

const (
	// separator separates the values of an annotation.
	separator = ","
	// maxOrders is the maximum number of orders of a manifest.
	maxOrders = 100
	// maxCopiedNodes is the maximum number of maps, lists, values and keys of the copies that are made of manifests with
	// several orders or phases. A short annotation could multiply the memory that a large manifest takes.
	maxCopiedNodes = 1_000_000
)

// copyBudget limits the copies of the manifests of a set.
type copyBudget struct{ spent int }

// spend returns an error if the list in an annotation has too many elements, or if the copies of the manifest exceed
// the budget.
func (b *copyBudget) spend(body *unstructured.Unstructured, key, list string, most int) error {
	count := strings.Count(list, separator) + 1
	if count > most {
		return fmt.Errorf("annotation %s: it has %d values, more than %d", key, count, most)
	}
	if count == 1 {
		return nil
	}
	nodes, err := bounded.Value(body.Object, bounded.Limits{Nodes: maxCopiedNodes})
	if err != nil {
		return err
	}
	if b.spent += count * nodes; b.spent > maxCopiedNodes {
		return fmt.Errorf("annotation %s: the manifests with several orders or phases have together more than %d maps, "+
			"lists, values and keys", key, maxCopiedNodes)
	}
	return nil
}

// perOrder returns a copy of a manifest for each order in the annotation orderKey.
func perOrder(body *unstructured.Unstructured, orderKey, purgeKey string) ([]*unstructured.Unstructured, error) {
	orders := strings.Split(body.GetAnnotations()[orderKey], separator)
	purge, purged := body.GetAnnotations()[purgeKey]
	purges := strings.Split(purge, separator)
	if purged && len(purges) != len(orders) {
		return nil, fmt.Errorf(
			"annotation %s: %q has another number of waves than %s: %q; each order needs a purge order",
			purgeKey, purge, orderKey, body.GetAnnotations()[orderKey],
		)
	}
	copies := make([]*unstructured.Unstructured, 0, len(orders))
	for i := range orders {
		one := body.DeepCopy()
		annotations := one.GetAnnotations()
		annotations[orderKey] = strings.TrimSpace(orders[i])
		if purged {
			annotations[purgeKey] = strings.TrimSpace(purges[i])
		}
		one.SetAnnotations(annotations)
		copies = append(copies, one)
	}
	return copies, nil
}

// numberOccurrences numbers the objects with the same key, and replaces their digests by digests of occurrences.
// objects must be sorted in apply order. It returns errors for objects that are rendered twice for the same point of
// the order, and for manifests that checkOccurrences refuses.
func (n normaliser) numberOccurrences(objects []manifests.Object) []error {
	type place struct {
		key   manifests.Key
		phase manifests.Phase
	}
	seen := make(map[place]int, len(objects))
	for _, o := range objects {
		seen[place{o.Key, o.Settings.Phase}]++
	}
	several := map[place][]*manifests.Object{}
	var order []place
	for i := range objects {
		at := place{objects[i].Key, objects[i].Settings.Phase}
		if seen[at] == 1 {
			continue
		}
		if several[at] == nil {
			order = append(order, at)
		}
		several[at] = append(several[at], &objects[i])
	}
	var errs []error
	for _, at := range order {
		err := checkOccurrences(several[at])
		if err != nil {
			err = &RepeatedError{Object: at.key, Err: err}
		}
		if err == nil && at.key.IsExternal() {
			err = fmt.Errorf("%s: an external has one order only; remove the others", at.key)
		}
		if err == nil {
			err = n.numberObject(several[at])
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// RepeatedError is the error of an object with several manifests that contradict each other.
type RepeatedError struct {
	Object manifests.Key
	Err    error
}

// Error implements error.
func (e *RepeatedError) Error() string { return fmt.Sprintf("%s: %s", e.Object, e.Err) }

// Unwrap returns the contradiction.
func (e *RepeatedError) Unwrap() error { return e.Err }

// checkOccurrences returns an error if the manifests of an object contradict each other. The manifests are in apply
// order. An object may have several manifests only if each next manifest replaces the previous one on purpose: the
// object is purged before the next manifest is applied, or the next manifest recreates the object, or both manifests
// have the same content.
func checkOccurrences(occurrences []*manifests.Object) error {
	for i := range occurrences[1:] {
		before, next := *occurrences[i], *occurrences[i+1]
		order, purge := next.Settings.Order, before.Settings.PurgeOrder
		switch {
		case before.InGraph() || next.InGraph():
			return fmt.Errorf(
				"rendered more than once, and with %s; an object that depends on others is applied once, so it "+
					"has a single manifest",
				manifests.AnnotationDependsOn,
			)
		case isInFlow(before.Settings) || isInFlow(next.Settings):
			return errors.New("rendered more than once; an object that is observed, exports values or binds values must be " +
				"rendered once, with one order")
		case before.Settings.Phase != manifests.PhaseApply, before.Settings.Order == order:
			return errors.New("rendered more than once; names are unique in a component")
		case purge != nil && *purge >= order:
			return fmt.Errorf("the purge-order %d is not before the next order %d, so the object would be purged after it "+
				"is applied again; set an earlier purge-order", *purge, order)
		case purge == nil && next.Settings.UpdatePolicy != metav1alpha1.UpdateRecreate &&
			!digests.SameContent(before.Digest, next.Digest):
			return fmt.Errorf("rendered more than once, at order %d and at order %d; names are unique in a component, "+
				"unless a manifest has a purge-order before the next order, or the next manifest has update-policy recreate",
				before.Settings.Order, order)
		}
	}
	return nil
}

// numberObject numbers the occurrences of an object, and gives them their digests.
func (n normaliser) numberObject(occurrences []*manifests.Object) error {
	contents := make([]string, 0, len(occurrences))
	for _, o := range occurrences {
		contents = append(contents, digests.Content(o.Digest))
	}
	for i, o := range occurrences {
		digest, err := digests.Occurrence(o.Digest, contents, i)
		if err != nil {
			return fmt.Errorf("%s: %w", o.Key, err)
		}
		o.Occurrence, o.Digest = i, digest
		mark(n.Owner, o.Body, n.Reconciler, digest)
	}
	return nil
}

// isInFlow reports whether the object is observed, exports values, or binds values.
func isInFlow(s manifests.Settings) bool { return s.IsObserved() || len(s.Exports()) > 0 || s.Binds() }
