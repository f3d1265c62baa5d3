package helm

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// The waves of hooks with weight 0. Waves of a chart's own objects are between them.
const (
	preHookOrder  = -1000
	postHookOrder = 1000
)

// legacyTest is what Helm 2 called a test, and Helm 3 still knows.
const legacyTest release.HookEvent = "test-success"

// hookEvents are the events of a hook that matter to an apply.
type hookEvents struct {
	install, upgrade, pre bool
}

// eventsOf reads the annotation of a hook. As in Helm, a hook with an event that is not known is none at all.
func eventsOf(annotation string) (events hookEvents, known bool) {
	for event := range strings.SplitSeq(annotation, ",") {
		switch release.HookEvent(strings.ToLower(strings.TrimSpace(event))) {
		case release.HookPreInstall:
			events.install, events.pre = true, true
		case release.HookPostInstall:
			events.install = true
		case release.HookPreUpgrade:
			events.upgrade, events.pre = true, true
		case release.HookPostUpgrade:
			events.upgrade = true
		case release.HookPreDelete, release.HookPostDelete, release.HookPreRollback, release.HookPostRollback, release.HookTest, legacyTest:
		default:
			return hookEvents{}, false
		}
	}
	return events, true
}

// runs says whether the hook is part of the dependents of a revision. A hook for the installation stays, or it would be pruned.
func (e hookEvents) runs(revision int64) bool { return e.install || e.upgrade && revision > 1 }

// placeHooks makes ordinary dependents of the hooks among the objects of a template, and drops those that do not matter to an apply.
func placeHooks(file string, objects []*unstructured.Unstructured, revision int64, options Options) ([]*unstructured.Unstructured, error) {
	var kept []*unstructured.Unstructured
	var errs []error
	for _, object := range objects {
		annotation, isHook := object.GetAnnotations()[release.HookAnnotation]
		events, known := eventsOf(annotation)
		switch {
		case !isHook, options.Raw && known:
			kept = append(kept, object)
		case !known, !events.install && !events.upgrade:
		case options.AnnotationPrefix == "":
			errs = append(errs, fmt.Errorf("%s: %s %s is a hook (%s), and the generator has no annotation prefix to order it by: set Options.AnnotationPrefix",
				file, object.GetKind(), object.GetName(), annotation))
		case events.runs(revision):
			placeHook(object, events, options.AnnotationPrefix)
			kept = append(kept, object)
		}
	}
	return kept, errors.Join(errs...)
}

// placeHook expresses a hook by settings. Settings that the chart wrote stay.
func placeHook(hook *unstructured.Unstructured, events hookEvents, prefix string) {
	annotations := hook.GetAnnotations()
	set := func(setting, value string) {
		if _, found := annotations[prefix+"/"+setting]; !found {
			annotations[prefix+"/"+setting] = value
		}
	}
	if _, found := annotations[prefix+"/apply-order"]; !found {
		set("order", strconv.Itoa(hookOrder(annotations[release.HookWeightAnnotation], events.pre)))
	}
	if !events.upgrade {
		set("reconcile-policy", string(metav1alpha1.ReconcileOnce))
	}
	if kind := hook.GetKind(); kind == "Job" || kind == "Pod" {
		set("update-policy", string(metav1alpha1.UpdateRecreate))
	}
	hook.SetAnnotations(annotations)
}

// hookOrder returns the wave of a hook. A wave before the chart's objects stays before them, and one after them after, whatever the weight.
// As in Helm, a weight that is no whole number counts as 0.
func hookOrder(weight string, pre bool) int {
	offset, err := strconv.Atoi(weight)
	if err != nil {
		offset = 0
	}
	offset = min(max(offset, math.MinInt16), math.MaxInt16)
	if pre {
		return min(max(preHookOrder+offset, math.MinInt16), -1)
	}
	return min(max(postHookOrder+offset, 1), math.MaxInt16)
}
