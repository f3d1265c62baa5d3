package helm

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/typeset"
	"github.com/fairlead-io/fairlead/pkg/internal/hookorder"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Waves of the hooks and the CustomResourceDefinitions of a chart. All other objects are in wave 0, or in the wave that
// the chart sets. Each hook has its own wave, because Helm runs hooks one after the other. A hook that is deleted after
// success is purged in another wave; these waves are in reverse order.
const (
	definitionsOrder = -30_000
	preHooksOrder    = -hookorder.First
	postHooksOrder   = hookorder.First
	deleteHooksOrder = postHooksOrder + 2*maxHooks
	maxHooks         = hookorder.Max
)

// The annotation and the value with which Helm never deletes an object.
const (
	resourcePolicyAnnotation = "helm.sh/resource-policy"
	keepPolicy               = "keep"
)

// revisionAnnotation is an annotation with the revision. It changes the manifest of a hook at each revision, so that
// the hook runs again.
const revisionAnnotation = "helm.fairlead.io/revision"

// waves converts the order in which Helm installs a chart to settings of the reconciler.
type waves struct {
	prefix    string
	revision  int64
	namespace string
	// hookTimeout is the timeout of hooks whose manifests set none; zero means none.
	hookTimeout time.Duration
}

// arrange converts hooks to dependents, removes hooks that run neither at this revision nor on deletion, and sets the
// order of all objects.
func (w waves) arrange(objects []*unstructured.Unstructured, hooks []hook) ([]*unstructured.Unstructured, error) {
	if err := w.check(objects, hooks); err != nil {
		return nil, err
	}
	slices.SortStableFunc(hooks, compareHooks)
	if len(hooks) > maxHooks {
		return nil, fmt.Errorf("%d hooks: more than %d are not supported", len(hooks), maxHooks)
	}
	var early []*unstructured.Unstructured
	own := objects
	for rank, h := range hooks {
		m := w.momentsOf(h)
		if m.none() && !h.at(release.HookPreDelete, release.HookPostDelete) || m.kept && w.isReplaced(h.object, own, hooks) {
			continue
		}
		w.place(h, m, rank, len(hooks))
		objects = append(objects, h.object)
		if m.pre {
			early = append(early, h.object)
		}
	}
	for _, object := range objects {
		w.keep(object)
		if w.isNeeded(object, early) {
			w.set(object, manifests.AnnotationOrder, strconv.Itoa(definitionsOrder))
		}
	}
	for _, object := range early {
		w.deleteBeforeServices(object, objects)
	}
	return objects, nil
}

// deleteBeforeServices sets the delete order of a webhook configuration or an APIService that is a hook, if the
// Services that it names would be deleted before it. Without these Services, the API server could refuse further
// deletions.
func (w waves) deleteBeforeServices(hook *unstructured.Unstructured, objects []*unstructured.Unstructured) {
	named := hookorder.Services(hook)
	own, ok := w.deleteOrderOf(hook)
	first := own
	for _, object := range objects {
		name := types.NamespacedName{Namespace: w.namespaceOf(object), Name: object.GetName()}
		isNamed := object.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Service"} && slices.Contains(named, name)
		if order, known := w.deleteOrderOf(object); known && isNamed {
			first = min(first, order)
		}
	}
	if ok && first < own {
		w.set(hook, manifests.AnnotationDeleteOrder, strconv.Itoa(first))
	}
}

// deleteOrderOf returns the wave of a deletion in which an object is deleted. ok is false if it has several orders.
func (w waves) deleteOrderOf(object *unstructured.Unstructured) (order int, ok bool) {
	if text, written := object.GetAnnotations()[w.prefix+"/"+manifests.AnnotationDeleteOrder]; written {
		order, err := strconv.Atoi(text)
		return order, err == nil
	}
	order, err := strconv.Atoi(cmp.Or(w.orderOf(object), "0"))
	return -order, err == nil
}

// check returns errors for objects that need settings if Options.AnnotationPrefix is not set.
func (w waves) check(objects []*unstructured.Unstructured, hooks []hook) error {
	if w.prefix != "" {
		return nil
	}
	var errs []error
	for _, h := range hooks {
		errs = append(
			errs,
			fmt.Errorf(
				"%s: %s %s is a hook (%s); hooks are ordered by annotations, whose prefix is not set: set Options.AnnotationPrefix",
				h.file,
				h.object.GetKind(),
				h.object.GetName(),
				h.object.GetAnnotations()[release.HookAnnotation],
			),
		)
	}
	for _, object := range objects {
		if isKept(object) {
			errs = append(
				errs,
				fmt.Errorf(
					"%s %s is to be kept (%s), and the generator has no annotation prefix to say so: set Options.AnnotationPrefix",
					object.GetKind(),
					object.GetName(),
					resourcePolicyAnnotation,
				),
			)
		}
	}
	return errors.Join(errs...)
}

// moments are the points of an apply at which a hook runs.
type moments struct {
	// pre is set if the hook runs before the chart's own objects, and post if it runs after them.
	pre, post bool
	// kept marks an installation hook that an upgrade must not delete, because it may contain a password. It is not
	// applied again.
	kept bool
}

func (m moments) none() bool { return !m.pre && !m.post }

// momentsOf returns when a hook runs in the apply of this revision.
func (w waves) momentsOf(h hook) moments {
	if w.revision > 1 {
		m := moments{pre: h.at(release.HookPreUpgrade), post: h.at(release.HookPostUpgrade)}
		if !m.none() || h.runs() {
			return m
		}
	}
	m := moments{pre: h.at(release.HookPreInstall), post: h.at(release.HookPostInstall)}
	m.kept = w.revision > 1 && !m.none()
	return m
}

// installs reports whether the hook runs on installations and not on upgrades.
func installs(h hook) bool {
	return h.at(release.HookPreInstall, release.HookPostInstall) &&
		!h.at(release.HookPreUpgrade, release.HookPostUpgrade)
}

// isReplaced reports whether an object of the chart, or a hook of this upgrade, has the same identity as the given
// object. A chart may define an object separately for each event.
func (w waves) isReplaced(object *unstructured.Unstructured, own []*unstructured.Unstructured, hooks []hook) bool {
	return slices.ContainsFunc(own, func(o *unstructured.Unstructured) bool { return w.same(o, object) }) ||
		slices.ContainsFunc(hooks, func(h hook) bool {
			m := w.momentsOf(h)
			return w.same(h.object, object) && !m.none() && !m.kept
		})
}

// same reports whether two manifests describe the same object.
func (w waves) same(a, b *unstructured.Unstructured) bool {
	return a.GroupVersionKind().GroupKind() == b.GroupVersionKind().GroupKind() && a.GetName() == b.GetName() &&
		w.namespaceOf(a) == w.namespaceOf(b)
}

func (w waves) namespaceOf(object *unstructured.Unstructured) string {
	if namespace := object.GetNamespace(); namespace != "" {
		return namespace
	}
	return w.namespace
}

// place sets the settings of a hook. rank is its position among all count hooks.
func (w waves) place(h hook, m moments, rank, count int) {
	if !m.none() {
		w.placeInApply(h, m, rank, count)
	}
	w.placeInDeletion(h, m, rank)
	if h.failed && h.runs() {
		w.set(h.object, manifests.AnnotationPurgeFailed, "true")
	}
	if w.hookTimeout > 0 && !m.kept {
		w.set(h.object, manifests.AnnotationTimeout, w.hookTimeout.String())
	}
}

// placeInApply sets the settings of a hook within an apply. A hook for two events of the operation has two orders. A
// hook that other objects depend on (see holds) is neither recreated nor purged, and a kept hook is not applied again,
// so such a hook has only one order.
func (w waves) placeInApply(h hook, m moments, rank, count int) {
	var orders, purges []string
	if m.pre {
		orders = append(orders, strconv.Itoa(preHooksOrder+rank))
		purges = append(purges, strconv.Itoa(preHooksOrder+2*count-1-rank))
	}
	if m.post && (!m.pre || !h.holds() && !m.kept) {
		orders = append(orders, strconv.Itoa(postHooksOrder+rank))
		purges = append(purges, strconv.Itoa(postHooksOrder+2*count-1-rank))
	}
	if h.succeeded && !h.holds() {
		w.set(h.object, manifests.AnnotationPurgeOrder, cmp.Or(w.orderOf(h.object), strings.Join(purges, ",")))
	}
	w.set(h.object, manifests.AnnotationOrder, strings.Join(orders, ","))
	if installs(h) && !h.runs() {
		w.set(h.object, manifests.AnnotationReconcilePolicy, string(metav1alpha1.ReconcileOnce))
		if len(orders) > 1 {
			w.set(h.object, manifests.AnnotationUpdatePolicy, string(metav1alpha1.UpdateRecreate))
		}
		return
	}
	annotate(h.object, revisionAnnotation, strconv.FormatInt(w.revision, 10))
	if !h.holds() {
		w.set(h.object, manifests.AnnotationUpdatePolicy, string(metav1alpha1.UpdateRecreate))
	}
}

// placeInDeletion sets the settings of a hook within the deletion.
func (w waves) placeInDeletion(h hook, m moments, rank int) {
	var phases []string
	if !m.none() {
		phases = append(phases, "apply")
	}
	if h.at(release.HookPreDelete) {
		phases = append(phases, string(manifests.PhasePreDelete))
	}
	if h.at(release.HookPostDelete) {
		phases = append(phases, string(manifests.PhasePostDelete))
	}
	if !m.none() && len(phases) == 1 {
		return
	}
	w.set(h.object, manifests.AnnotationPhase, strings.Join(phases, ","))
	w.set(h.object, manifests.AnnotationPhaseOrder, strconv.Itoa(deleteHooksOrder+rank))
}

// keep sets the delete policy orphan on an object that Helm would keep.
func (w waves) keep(object *unstructured.Unstructured) {
	if isKept(object) {
		w.set(object, manifests.AnnotationDeletePolicy, string(metav1alpha1.DeleteOrphan))
	}
}

func isKept(object *unstructured.Unstructured) bool {
	return strings.ToLower(strings.TrimSpace(object.GetAnnotations()[resourcePolicyAnnotation])) == keepPolicy
}

// isNeeded reports whether a hook that runs before the chart's objects requires this object, as its namespace or as the
// definition of its type. In a Helm release such an object exists from an earlier revision.
func (w waves) isNeeded(object *unstructured.Unstructured, hooks []*unstructured.Unstructured) bool {
	switch object.GetKind() {
	case "Namespace":
		return slices.ContainsFunc(
			hooks,
			func(h *unstructured.Unstructured) bool { return w.namespaceOf(h) == object.GetName() },
		)
	case "CustomResourceDefinition":
		types := typeset.DefinedBy(object)
		return slices.ContainsFunc(hooks, func(h *unstructured.Unstructured) bool {
			return slices.Contains(types, manifests.ManagedType{GroupKind: h.GroupVersionKind().GroupKind()})
		})
	}
	return false
}

// orderOf returns the apply order that the chart sets with an annotation, or an empty string.
func (w waves) orderOf(object *unstructured.Unstructured) string {
	annotations := object.GetAnnotations()
	return cmp.Or(
		annotations[w.prefix+"/"+manifests.AnnotationOrder],
		annotations[w.prefix+"/"+manifests.AnnotationApplyOrder],
	)
}

// set adds a setting to an object, unless the chart has set it.
func (w waves) set(object *unstructured.Unstructured, setting, value string) {
	_, written := object.GetAnnotations()[w.prefix+"/"+setting]
	if written || setting == manifests.AnnotationOrder && w.orderOf(object) != "" {
		return
	}
	annotate(object, w.prefix+"/"+setting, value)
}

func annotate(object *unstructured.Unstructured, key, value string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	object.SetAnnotations(annotations)
}
