package plan

import (
	"fmt"
	"slices"
	"strings"
)

// maxNamed bounds the rivals, and the fields of each, that a message names.
const maxNamed = 3

// describe says what is lost again and again, to whom, and what to do.
func (r Repairs) describe() string {
	const meanwhile = "; meanwhile it is repaired less and less often"
	switch {
	case len(r.ConflictingManagers) > 0:
		return describeManagers(r.ConflictingManagers) + meanwhile
	case slices.Contains(r.Losses, lostObject):
		return "it is deleted again and again, by whom is not known; stop whoever deletes it, or take it out of the manifests" + meanwhile
	}
	return "fields of its manifest are changed again and again, by whom is not known; leave them out of the manifest, or stop who changes them" + meanwhile
}

// describeManagers names each manager with its fields, and then what to do about them.
func describeManagers(managers []ConflictingManager) string {
	var causes, remedies []string
	groups := byManager(managers)
	for _, group := range groups[:min(len(groups), maxNamed)] {
		causes = append(causes, cause(group))
		if advice := remedy(group); !slices.Contains(remedies, advice) {
			remedies = append(remedies, advice)
		}
	}
	text := strings.Join(causes, ", ")
	if more := len(groups) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + "; " + strings.Join(remedies, "; ")
}

// byManager groups rivals that differ in their fields only, in their order.
func byManager(managers []ConflictingManager) [][]ConflictingManager {
	var groups [][]ConflictingManager
	for _, r := range managers {
		i := slices.IndexFunc(groups, func(g []ConflictingManager) bool { return g[0].sameManager(r) })
		if i < 0 {
			groups = append(groups, []ConflictingManager{r})
			continue
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}

func (r ConflictingManager) sameManager(other ConflictingManager) bool {
	return r.Manager == other.Manager && r.Operation == other.Operation && r.Subresource == other.Subresource && r.Mark == other.Mark
}

// cause says who does what.
func cause(group []ConflictingManager) string {
	r := group[0]
	if r.Manager == "" {
		return fmt.Sprintf("%s removed again and again, by whom is not known", fieldsText(group, " is", " are"))
	}
	how := r.Operation
	if r.Subresource != "" {
		how += " of " + r.Subresource
	}
	return fmt.Sprintf("%s changed again and again by %q (%s)", fieldsText(group, " is", " are"), r.Manager, how)
}

// remedy says what to do.
func remedy(group []ConflictingManager) string {
	r, fields := group[0], fieldsText(group, "", "")
	switch {
	case r.Mark:
		return "stop that: by this mark dependents are known"
	case r.Manager == "":
		return fmt.Sprintf("leave %s out of the manifest, or stop who removes it", fields)
	case r.autoscales():
		return fmt.Sprintf("a HorizontalPodAutoscaler does that: leave %s out of the manifest, so that it may own it, or delete the autoscaler", fields)
	}
	return fmt.Sprintf("leave %s out of the manifest, so that %q may own it, or stop %[2]q from writing it", fields, r.Manager)
}

// autoscales says that a field was changed by the HorizontalPodAutoscalers of Kubernetes: nothing else in the controller manager scales by way
// of the subresource.
func (r ConflictingManager) autoscales() bool {
	return r.Manager == "kube-controller-manager" && r.Subresource == "scale"
}

// fieldsText names the first fields of a group, with what follows one, or many.
func fieldsText(group []ConflictingManager, one, many string) string {
	var fields []string
	for _, r := range group[:min(len(group), maxNamed)] {
		fields = append(fields, r.Field)
	}
	text := strings.Join(fields, ", ")
	if more := len(group) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if len(group) == 1 {
		return text + one
	}
	return text + many
}
