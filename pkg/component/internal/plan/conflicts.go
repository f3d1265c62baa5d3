package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ConflictingManager is the field manager of a client that changes a field which our manifest sets.
type ConflictingManager struct {
	// Field is the path of the field, such as spec.replicas.
	Field string
	// Manager, Operation and Subresource are copied from the entry in metadata.managedFields that lists the field. The
	// three values are empty if the field was removed, because managedFields do not show which client removed a field.
	Manager, Operation, Subresource string
	// Mark is set if the field is a label or an annotation by which dependents are identified. Users cannot remove such a
	// field from the manifest to end the conflict.
	Mark bool
}

// maxNamed is the maximum number of managers in a message, and the maximum number of fields for each manager.
const maxNamed = 3

// describeRepairs returns the message for users about a repair conflict. The message names the fields that other
// clients change repeatedly, or the repeated deletion of the object; it names these clients, and gives advice.
func describeRepairs(c candidate, r Repairs) string {
	const meanwhile = "; until then it is repaired less and less often"
	switch {
	case len(r.ConflictingManagers) > 0:
		return describeManagers(r.ConflictingManagers) + meanwhile
	case r.Difference != "":
		return fmt.Sprintf("it differs repeatedly from its manifest (%s), although it was updated; "+
			"stop clients that change it; if the external system ignores or normalises the value, correct the manifest, "+
			"or accept the value in the method Match of its kind", r.Difference) + meanwhile
	case slices.Contains(r.Losses, lostMatch):
		return "its matcher says repeatedly that it differs from its manifest, although it was written; " +
			"stop clients that change it, or correct the matcher" + meanwhile
	case slices.Contains(r.Losses, lostObject):
		return deletedBy(c) + meanwhile
	}
	return "an unknown client changes fields of its manifest repeatedly; " +
		"stop that client, or name the fields in the annotation ignore" + meanwhile
}

// deletedBy says who deletes an object repeatedly, as far as that is known, and gives advice. The garbage collection of
// Kubernetes deletes an object if none of the owners exists that its owner references name.
func deletedBy(c candidate) string {
	var references []any
	if whole, err := c.object.Whole(); err == nil {
		references, _, _ = unstructured.NestedSlice(whole.Body.Object, "metadata", "ownerReferences")
	}
	if len(references) == 0 {
		return "an unknown client deletes it repeatedly; " +
			"stop that client, or leave the object out of the manifests if nobody needs it"
	}
	var named []string
	for _, reference := range references[:min(len(references), maxNamed)] {
		fields, _ := reference.(map[string]any)
		named = append(named, fmt.Sprintf("%v %v (UID %v)", fields["kind"], fields["name"], fields["uid"]))
	}
	return fmt.Sprintf("it is deleted repeatedly, probably by the garbage collection of Kubernetes, because its owners do not "+
		"exist: metadata.ownerReferences of its manifest names %s; remove the owner references from the manifest, or stop "+
		"the client that deletes the object", strings.Join(named, ", "))
}

// describeManagers returns a message that names the managers with the fields that they change, followed by advice for
// the user.
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

// byManager groups conflicts that differ only in the field. The order of the conflicts is preserved.
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

// cause returns the part of a message that names the fields that a manager changes. All conflicts of the group have the
// same manager.
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

// remedy returns the part of a message with the advice about the fields that a manager changes. All conflicts of the
// group have the same manager.
func remedy(group []ConflictingManager) string {
	m, fields := group[0], fieldsText(group, "", "")
	leave := fmt.Sprintf("name %s in the annotation ignore", fields)
	switch {
	case m.Mark:
		return "stop that client: dependents are identified by such labels and annotations"
	case m.Manager == "":
		return leave + " to accept that, or stop that client"
	case m.isAutoscaler():
		return "a HorizontalPodAutoscaler sets it: " + leave + " to let the autoscaler own it; if the autoscaler is " +
			"deleted instead, the manifest decides"
	}
	return fmt.Sprintf("%s to let %q own %s, or stop %[2]q from writing %[3]s", leave, m.Manager, pronoun(group))
}

func pronoun(group []ConflictingManager) string {
	if len(group) == 1 {
		return "it"
	}
	return "them"
}

// isAutoscaler reports whether the manager is the controller of HorizontalPodAutoscalers. The controller of
// HorizontalPodAutoscalers is the only controller in kube-controller-manager that writes through the subresource scale.
func (m ConflictingManager) isAutoscaler() bool {
	return m.Manager == "kube-controller-manager" && m.Subresource == "scale"
}

// fieldsText returns the names of the first fields of a group. The text ends with the argument one if the group has a
// single field, and with the argument many otherwise.
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

// conflictingManagers returns the managers that a response shows.
func (o *Observed) conflictingManagers() []ConflictingManager {
	if o.Response == nil {
		return nil
	}
	return o.Response.ConflictingManagers
}
