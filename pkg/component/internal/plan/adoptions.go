package plan

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/builtintypes"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Adoptions are the existing objects that a component may take over where the adoption policy is if-unowned, and the
// clusters whose objects of this component it may take over. The zero value permits all objects without an owner,
// except those with the mark of another tool.
type Adoptions struct {
	// complete is set if no other object may be taken over.
	complete bool
	// self is the component, and namespace the namespace in which it is rendered.
	self      manifests.Owner
	namespace string
	rules     []metav1alpha1.AdoptRule
	// list is the name of the list with the rules, for messages; empty if the type of the component has none.
	list string
	// unowned permits all objects without an owner, whoever has them.
	unowned bool
}

// Unowned returns adoptions that permit all objects without an owner, also those with the mark of another tool.
func (a Adoptions) Unowned() Adoptions {
	a.unowned = true
	return a
}

// NewAdoptions returns the adoptions that the rules of a component permit. Nil rules and an empty list differ: a list
// is complete. namespace is the namespace of rules without a namespace. field is the field of the component that has
// the rules, such as spec.adopt; it is empty if it is not known, or if the type of the component has no such field.
func NewAdoptions(
	self manifests.Owner, namespace string, rules []metav1alpha1.AdoptRule, field string,
) Adoptions {
	a := Adoptions{complete: rules != nil, self: self, namespace: namespace, rules: rules, list: field}
	if a.complete && field == "" {
		a.list = "the list of objects that the component may adopt"
	}
	return a
}

// permits reports whether a rule names an object, and has its UID or none.
func (a Adoptions) permits(key manifests.Key, uid types.UID) bool {
	return slices.ContainsFunc(a.rules, func(r metav1alpha1.AdoptRule) bool {
		return a.isAbout(r, key) && (r.UID == "" || r.UID == uid)
	})
}

// confirmed returns the UID that a rule has for the name of an object; empty if no rule with a UID names the object.
func (a Adoptions) confirmed(key manifests.Key) types.UID {
	for _, r := range a.rules {
		if r.UID != "" && a.isAbout(r, key) {
			return r.UID
		}
	}
	return ""
}

// isAbout reports whether a rule names an object, whatever its UID is.
func (a Adoptions) isAbout(r metav1alpha1.AdoptRule, key manifests.Key) bool {
	namespace := cmp.Or(r.Namespace, a.namespace)
	return r.Kind == key.Kind && r.Group == key.Group && r.Name == key.Name &&
		(key.Namespace == "" || namespace == key.Namespace)
}

// moves reports whether an owner id is that of the component in another cluster whose objects it may take over.
func (a Adoptions) moves(id string) bool {
	for _, r := range a.rules {
		if r.Cluster != "" && id != "" && a.elsewhere(r.Cluster).ID() == id {
			return true
		}
	}
	return false
}

// elsewhere returns the component as an owner in another cluster.
func (a Adoptions) elsewhere(cluster string) manifests.Owner {
	owner := a.self
	owner.Cluster = cluster
	return owner
}

// ToolMark is the mark of another tool on an object, such as the annotations with which Helm names the release that an
// object belongs to, and the mark of a release by a component.
type ToolMark struct {
	// By names the tool and its release or application, such as "the Helm release shop/web"; empty if the object has no
	// such mark.
	By string
	// ReleasedBy is the owner id of the component that released the object; empty if none did.
	ReleasedBy string
	// CopyOf is the dependent of which the object is a copy, with the marks of the reconciler; empty for other objects.
	CopyOf string
}

// ruleUnowned adopts an object without an owner, if the adoption policy and the component permit that, or the component
// released the object itself. Marks are known only after a read, because watches do not look for them.
func ruleUnowned(c candidate) (decision, bool) {
	switch {
	case c.live.Owner != "":
		return decision{}, false
	case c.adoption == metav1alpha1.AdoptNever:
		return c.refuseAdoption(fmt.Sprintf(
			"it exists already, and its adoption policy is never; %s; to adopt it, set the policy if-unowned: %s; do not "+
				"delete it for that (%s)", avoidance(c), overwriting(c), LossOf(c.object.Key),
		)), true
	case c.object.Key.IsExternal():
		return c.update(ReasonAdopted), true
	case c.live.Mark == nil:
		d := c.act(VerbRead, ReasonUnmarked)
		d.repair = false
		return d, true
	case isReleased(c):
		return c.update(ReasonReleased), true
	case isListed(c):
		return c.update(ReasonListed), true
	case c.adoption == metav1alpha1.AdoptAlways || c.adoptions.unowned:
		return c.update(ReasonAdopted), true
	case c.live.Mark.By != "":
		return c.refuseAdoption(fmt.Sprintf(
			"%s; %s, or %s", unlisted(c, "it belongs to "+c.live.Mark.By), avoidance(c), adoptionAdvice(c),
		)), true
	case c.adoptions.complete && c.entry.UID == "" && !providedByKubernetes(c.object.Key):
		reason := unlisted(c, fmt.Sprintf(
			"%s, and %s does not name it (managed by: %s)", existing(c), c.adoptions.list, c.adoptedFrom()))
		return c.refuseAdoption(fmt.Sprintf("%s; %s, or %s", reason, avoidance(c), adoptionAdvice(c))), true
	}
	return c.update(ReasonAdopted), true
}

// existing says that the object exists, and what it is a copy of.
func existing(c candidate) string {
	if c.live.Mark.CopyOf == "" {
		return "it exists already"
	}
	return fmt.Sprintf("it exists already, and is a copy of %s that another client made with the marks of the component",
		c.live.Mark.CopyOf)
}

// isReleased reports whether the component itself released the object, and no other tool has marked the object since.
// In a deletion the object is treated as one of somebody else, because the deletion would delete what a policy has
// kept.
func isReleased(c candidate) bool {
	return c.live.Mark.ReleasedBy == c.owner && c.live.Mark.By == "" && !c.inDeletion()
}

// isListed reports whether a rule of the component permits to adopt the object.
func isListed(c candidate) bool { return c.adoptions.permits(c.object.Key, c.live.UID) }

// unlisted says why no rule permits to adopt the object: a rule permits only an object that had the same name before,
// or else the given reason.
func unlisted(c candidate, reason string) string {
	confirmed := c.adoptions.confirmed(c.object.Key)
	if confirmed == "" {
		return reason
	}
	return fmt.Sprintf("it is another object than the one that was confirmed: %s permits the object with the UID %s, and it "+
		"has the UID %s (managed by: %s)", c.adoptions.list, confirmed, c.live.UID, c.adoptedFrom())
}

func (c candidate) refuseAdoption(message string) decision {
	return c.fail(Failure{Class: Terminal, Reason: WaitOwnershipConflict, Message: message})
}

// providedByKubernetes reports whether Kubernetes creates an object in each namespace. It appears with its namespace,
// so nobody can know it before.
func providedByKubernetes(key manifests.Key) bool {
	switch key.GroupKind().String() {
	case "ServiceAccount":
		return key.Name == "default"
	case "ConfigMap":
		return key.Name == "kube-root-ca.crt"
	}
	return false
}

// adoptionAdvice returns advice on how to take over an object that the component does not list.
func adoptionAdvice(c candidate) string {
	if c.adoptions.list == "" {
		return fmt.Sprintf("take it over: %s; %s", c.adoptions.byPolicy(), overwriting(c))
	}
	return fmt.Sprintf("take it over: add %s to %s%s; %s",
		adoptEntry(c), c.adoptions.list, c.byCommand("--adopt"), overwriting(c))
}

// byPolicy says how an object gets the adoption policy always, for a component whose type has no list.
func (a Adoptions) byPolicy() string {
	return fmt.Sprintf("set the annotation %s of its manifest to %s",
		annotation(a.self, manifests.AnnotationAdoptionPolicy), metav1alpha1.AdoptAlways)
}

// byCommand returns the command that adds an entry to spec.adopt by a flag. It is empty for a type of an author, which
// fairlead apply does not write, and in a deletion, because a component that is being deleted cannot be applied.
func (c candidate) byCommand(flag string) string {
	if c.inDeletion() || !IsReadyMade(c.component) {
		return ""
	}
	return " (fairlead" + CommandFor("apply", c.component) + " DIR " + flag + ")"
}

// adoptEntry returns the rule that names the object, as YAML. The rule contains the UID if another rule permits an
// object of the same name by its UID.
func adoptEntry(c candidate) string {
	key, uid := c.object.Key, ""
	if c.adoptions.confirmed(key) != "" {
		uid = string(c.live.UID)
	}
	var fields []string
	for _, f := range []struct{ name, value string }{
		{"group", key.Group}, {"kind", key.Kind}, {"namespace", key.Namespace}, {"name", key.Name}, {"uid", uid},
	} {
		if f.value != "" {
			fields = append(fields, f.name+": "+yamlText(f.value))
		}
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// plainText matches the texts that YAML reads as a text without quotes, unless they are one of its words.
var plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9./-]*$`)

// yamlText returns a text as a value of a flow mapping in YAML.
func yamlText(text string) string {
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return strconv.Quote(text)
	}
	if plainText.MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}

// FromNobody is the value of Action.AdoptedFrom for an object that no tool has marked and no client manages.
const FromNobody = "nobody"

// adoptedFrom names who controls an object that the component does not own: its owner, another tool, field managers, or
// nobody.
func (c candidate) adoptedFrom() string {
	switch managers := strings.Join(c.live.Managers, ", "); {
	case c.live.Owner != "":
		return ownerText(c)
	case c.live.Mark != nil && c.live.Mark.By != "":
		return c.live.Mark.By
	case len(c.live.Managers) == 1:
		return "field manager " + managers
	case len(c.live.Managers) > 1:
		return "field managers " + managers
	}
	return FromNobody
}

// isComplete is the note about the adoption of a Job, or of a Pod that is not restarted, whose work is done. A Job that
// was left over by a hook of Helm, for example, counts as run.
const isComplete = "it is complete already, so it does not run again"

// noteOfAdoption returns Action.Note.
func noteOfAdoption(c candidate) string {
	kind := c.object.Key.GroupKind()
	if !builtintypes.RunsOnce(kind) || c.live.Readiness.State != ready.Ready {
		return ""
	}
	if kind.Group != "" {
		return isComplete
	}
	if whole, err := c.object.Whole(); err != nil || !ready.RunsToCompletion(whole.Body) {
		return ""
	}
	return isComplete
}

// movedAdvice returns advice for an object that the same component owns in another cluster; empty for other objects.
// The UID of that cluster comes from an annotation, which everybody may write who may write the object, so it is
// printed only if it is a UID.
func movedAdvice(c candidate) string {
	owner, ok := manifests.ParseOwner(c.live.OwnerName)
	if !ok || c.adoptions.elsewhere(owner.Cluster) != owner || !metav1alpha1.IsClusterUID(owner.Cluster) {
		return ""
	}
	if c.adoptions.list == "" && c.inDeletion() {
		return ""
	}
	if c.adoptions.list == "" {
		return "if it was moved here from there, " + c.adoptions.byPolicy()
	}
	return fmt.Sprintf("if it was moved here from there, add {cluster: %q} to %s%s", owner.Cluster, c.adoptions.list,
		c.byCommand("--adopt-cluster "+owner.Cluster))
}
