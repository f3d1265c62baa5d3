package helm

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// legacyTest is what Helm 2 called a test, and Helm 3 still knows.
const legacyTest release.HookEvent = "test-success"

var hookEvents = []release.HookEvent{
	release.HookPreInstall, release.HookPostInstall, release.HookPreUpgrade, release.HookPostUpgrade, release.HookPreDelete,
	release.HookPostDelete, release.HookPreRollback, release.HookPostRollback, release.HookTest, legacyTest,
}

// hook is an object that Helm creates at events of a release.
type hook struct {
	object *unstructured.Unstructured
	// file is the template that it is from.
	file      string
	events    []release.HookEvent
	weight    int
	succeeded bool
}

// hookOf reads the annotations of a hook as Helm does: a weight that is no whole number counts as 0, and with an event that is not known the
// object is neither a hook nor anything else.
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
	h.succeeded = slices.Contains(listOf(annotations[release.HookDeleteAnnotation]), string(release.HookSucceeded))
	return h, true, true
}

// listOf parts the value of an annotation.
func listOf(text string) []string {
	parts := strings.Split(text, ",")
	for i, part := range parts {
		parts[i] = strings.ToLower(strings.TrimSpace(part))
	}
	return parts
}

// at says that the hook runs at one of some events.
func (h hook) at(events ...release.HookEvent) bool {
	return slices.ContainsFunc(h.events, func(e release.HookEvent) bool { return slices.Contains(events, e) })
}

// compareHooks puts hooks in the order in which Helm runs those of an event: by weight and name, and then by kind. Where all of that is equal
// they stay as they are, in the order of their files.
func compareHooks(a, b hook) int {
	return cmp.Or(
		cmp.Compare(a.weight, b.weight),
		cmp.Compare(a.object.GetName(), b.object.GetName()),
		compareKinds(a.object.GetKind(), b.object.GetKind()),
	)
}

// compareKinds compares two kinds by Helm's order of installation. Those that it does not name come last, by their names.
func compareKinds(a, b string) int {
	return cmp.Or(cmp.Compare(installRank(a), installRank(b)), cmp.Compare(a, b))
}

func installRank(kind string) int {
	if rank := slices.Index(releaseutil.InstallOrder, kind); rank >= 0 {
		return rank
	}
	return math.MaxInt
}

// runs says that a hook does its work once: it is done when it completed.
func (h hook) runs() bool { return h.object.GetKind() == "Job" || h.object.GetKind() == "Pod" }

// holds says that others live in the hook, or by it. Such an object is neither recreated nor purged.
func (h hook) holds() bool {
	switch h.object.GetKind() {
	case "CustomResourceDefinition", "Namespace", "APIService":
		return true
	}
	return false
}
