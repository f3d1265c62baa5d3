package helm

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// legacyTest is the name of a test hook in Helm 2, which Helm 3 accepts.
const legacyTest release.HookEvent = "test-success"

var hookEvents = []release.HookEvent{
	release.HookPreInstall, release.HookPostInstall, release.HookPreUpgrade, release.HookPostUpgrade,
	release.HookPreDelete, release.HookPostDelete, release.HookPreRollback, release.HookPostRollback, release.HookTest,
	legacyTest,
}

// hook is an object that Helm creates at events of a release.
type hook struct {
	object *unstructured.Unstructured
	// file is the template of the hook.
	file      string
	events    []release.HookEvent
	weight    int
	succeeded bool
	failed    bool
}

// hookOf parses the annotations of a hook as Helm does: an invalid weight counts as 0, and an object with an unknown
// event is omitted. An event that is named twice counts once.
func hookOf(object *unstructured.Unstructured, file string) (h hook, isHook, known bool) {
	annotations := object.GetAnnotations()
	named, isHook := annotations[release.HookAnnotation]
	if !isHook {
		return hook{}, false, true
	}
	h = hook{object: object, file: file}
	for _, name := range listOf(named) {
		event := release.HookEvent(name)
		if !slices.Contains(hookEvents, event) {
			return hook{}, true, false
		}
		h.events = append(h.events, event)
	}
	h.weight, _ = strconv.Atoi(annotations[release.HookWeightAnnotation])
	policies := listOf(annotations[release.HookDeleteAnnotation])
	h.succeeded = slices.Contains(policies, string(release.HookSucceeded))
	h.failed = slices.Contains(policies, string(release.HookFailed))
	return h, true, true
}

// warnOfWeight reports a weight that is not a number. Helm does not report such a weight.
func (h hook) warnOfWeight(req generator.Request) {
	weight := h.object.GetAnnotations()[release.HookWeightAnnotation]
	if _, err := strconv.Atoi(weight); err == nil || weight == "" {
		return
	}
	req.Tell(generator.Result{
		Severity: generator.SeverityWarning,
		Message:  fmt.Sprintf("the weight %q is not a number, and counts as 0, as in Helm", weight),
		Object:   h.object.GetKind() + " " + h.object.GetName(),
		Field:    "metadata.annotations[" + release.HookWeightAnnotation + "]",
	})
}

// listOf splits the value of an annotation.
func listOf(text string) []string {
	parts := strings.Split(text, ",")
	for i, part := range parts {
		parts[i] = strings.ToLower(strings.TrimSpace(part))
	}
	return parts
}

// at reports whether the hook has one of the given events.
func (h hook) at(events ...release.HookEvent) bool {
	return slices.ContainsFunc(h.events, func(e release.HookEvent) bool { return slices.Contains(events, e) })
}

// compareHooks compares hooks by the order in which Helm runs them: weight, name, kind. Hooks that compare as equal
// keep the order of their files.
func compareHooks(a, b hook) int {
	return cmp.Or(
		cmp.Compare(a.weight, b.weight),
		cmp.Compare(a.object.GetName(), b.object.GetName()),
		compareKinds(a.object.GetKind(), b.object.GetKind()),
	)
}

// compareKinds compares two kinds by Helm's order of installation. Other kinds come last, by name.
func compareKinds(a, b string) int {
	return cmp.Or(cmp.Compare(installRank(a), installRank(b)), cmp.Compare(a, b))
}

func installRank(kind string) int {
	if rank := slices.Index(releaseutil.InstallOrder, kind); rank >= 0 {
		return rank
	}
	return math.MaxInt
}

func objectsOf(hooks []hook) []*unstructured.Unstructured {
	objects := make([]*unstructured.Unstructured, 0, len(hooks))
	for _, h := range hooks {
		objects = append(objects, h.object)
	}
	return objects
}

// tests returns the objects of the hooks for test, in the order in which Helm runs them.
func tests(hooks []hook) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	slices.SortStableFunc(hooks, compareHooks)
	for _, h := range hooks {
		if h.at(release.HookTest, legacyTest) {
			found = append(found, h.object)
		}
	}
	return found
}

// runs reports whether the hook is a Job or a Pod, which run to completion.
func (h hook) runs() bool { return h.object.GetKind() == "Job" || h.object.GetKind() == "Pod" }

// holds reports whether the hook is an object that other objects depend on: a namespace, or the definition of a type.
// Such a hook is neither recreated nor purged, because its deletion would delete these objects too.
func (h hook) holds() bool {
	switch h.object.GetKind() {
	case "CustomResourceDefinition", "Namespace", "APIService":
		return true
	}
	return false
}
