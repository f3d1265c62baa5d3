package plan

import (
	"fmt"
	"slices"
	"strings"
)

// ConflictingManager is a field manager that owns a field of a manifest of ours.
type ConflictingManager struct {
	// Field is the path of the field, such as spec.replicas.
	Field string
	// Manager, Operation and Subresource are those of the managed fields entry. They are empty if the field was
	// removed, because no entry names who removed a field.
	Manager, Operation, Subresource string
	// Mark is set if the field is a label or an annotation that identifies a dependent. It cannot be left out of the
	// manifest.
	Mark bool
}

// maxNamed bounds the managers, and the fields of each, that a message names.
const maxNamed = 3

// describe returns what is lost repeatedly, by which managers, and what to do.
func (r Repairs) describe() string {
	const meanwhile = "; until then it is repaired less and less often"
	switch {
	case len(r.ConflictingManagers) > 0:
		return describeManagers(r.ConflictingManagers) + meanwhile
	case slices.Contains(r.Losses, lostObject):
		return "an unknown client deletes it repeatedly; " +
			"stop that client, or remove the object from the manifests" + meanwhile
	}
	return "an unknown client changes fields of its manifest repeatedly; " +
		"stop that client, or remove the fields from the manifest" + meanwhile
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

// byManager groups conflicts that differ in their fields only. It keeps their order.
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

func (m ConflictingManager) sameManager(other ConflictingManager) bool {
	return m.Manager == other.Manager && m.Operation == other.Operation && m.Subresource == other.Subresource &&
		m.Mark == other.Mark
}

// cause returns which fields a manager changes.
func cause(group []ConflictingManager) string {
	m := group[0]
	if m.Manager == "" {
		return fmt.Sprintf("%s removed repeatedly by an unknown client", fieldsText(group, " is", " are"))
	}
	how := m.Operation
	if m.Subresource != "" {
		how += " of " + m.Subresource
	}
	return fmt.Sprintf("%s changed repeatedly by %q (%s)", fieldsText(group, " is", " are"), m.Manager, how)
}

// remedy returns what to do about the fields of one manager.
func remedy(group []ConflictingManager) string {
	m, fields := group[0], fieldsText(group, "", "")
	switch {
	case m.Mark:
		return "stop that client: dependents are identified by such labels and annotations"
	case m.Manager == "":
		return fmt.Sprintf("remove %s from the manifest, or stop that client", fields)
	case m.isAutoscaler():
		return fmt.Sprintf("a HorizontalPodAutoscaler sets it: remove %s from the manifest to let the autoscaler own it, "+
			"or delete the autoscaler", fields)
	}
	return fmt.Sprintf("remove %s from the manifest to let %q own it, or stop %[2]q from writing it", fields, m.Manager)
}

// isAutoscaler reports whether the manager is a HorizontalPodAutoscaler of Kubernetes. No other controller in the
// controller manager writes through the subresource scale.
func (m ConflictingManager) isAutoscaler() bool {
	return m.Manager == "kube-controller-manager" && m.Subresource == "scale"
}

// fieldsText names the first fields of a group, followed by the verb for one field, or for many.
func fieldsText(group []ConflictingManager, one, many string) string {
	var fields []string
	for _, m := range group[:min(len(group), maxNamed)] {
		fields = append(fields, m.Field)
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
