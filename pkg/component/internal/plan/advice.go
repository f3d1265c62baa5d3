package plan

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/builtintypes"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// losses has, for kinds of Kubernetes, what is lost if an object of the kind is deleted, besides its manifest. Each
// text is a clause without a full stop. LossOf contains the texts for all other kinds.
var losses = map[schema.GroupKind]string{
	CustomResourceDefinition:                      lossOfInstances,
	APIService:                                    "the objects of its API can no longer be reached",
	{Kind: "Namespace"}:                           "Kubernetes also deletes all objects in it",
	{Kind: "PersistentVolumeClaim"}:               "its data is lost, unless its volume has the reclaim policy Retain",
	{Kind: "PersistentVolume"}:                    "the claim that uses it loses its data",
	{Kind: "ConfigMap"}:                           "values that only the cluster has are lost",
	{Kind: "Secret"}:                              "values that only the cluster has are lost",
	{Kind: "Pod"}:                                 "it stops, and its logs and local data are lost",
	{Kind: "ReplicationController"}:               lossOfPods,
	{Kind: "Service"}:                             "its cluster IP, node ports and load balancer can change",
	{Kind: "ServiceAccount"}:                      "its tokens become invalid",
	{Group: "apps", Kind: "DaemonSet"}:            lossOfPods,
	{Group: "apps", Kind: "Deployment"}:           lossOfPods,
	{Group: "apps", Kind: "ReplicaSet"}:           lossOfPods,
	{Group: "apps", Kind: "StatefulSet"}:          lossOfPods + ", and its claims are deleted if it says so",
	{Group: "batch", Kind: "CronJob"}:             "its Jobs and their logs are lost",
	{Group: "batch", Kind: "Job"}:                 "its logs are lost, and its work may be done again",
	{Group: "networking.k8s.io", Kind: "Ingress"}: "its address can change",
}

const (
	lossOfInstances = "Kubernetes also deletes all its custom resources, of every owner"
	lossOfPods      = "its pods stop, and their logs and local data are lost"
)

// LossOf returns what is lost if an object is deleted, also if it is created again after that. The result is a clause
// for a message that mentions the deletion of the object.
func LossOf(key manifests.Key) string {
	switch loss := losses[key.GroupKind()]; {
	case key.IsExternal():
		return "it is also lost outside Kubernetes, with its data"
	case loss != "":
		return loss
	case key.Group == "rbac.authorization.k8s.io":
		return "the rights that it grants are lost"
	case !builtintypes.IsBuiltIn(key.Group):
		return "its controller may delete what it manages, with its data"
	}
	return "what only the cluster has of it is lost"
}

// immutableAdvice returns advice for the user about an immutable field: first what keeps the object, and at the end
// what deletes it, with the loss. It names the annotation of the object, because the policy of the component would
// also delete other objects.
func immutableAdvice(c candidate) string {
	loss := LossOf(c.object.Key)
	switch {
	case c.live.Owner != c.owner && c.entry.UID != c.live.UID && builtintypes.RunsOnce(c.object.Key.GroupKind()):
		return leftOverAdvice(c)
	case IsClaim(c.object.Key):
		return "keep its value, or render another claim beside it and copy the data; if this claim is deleted, " + loss
	case !c.holdsOthers() && c.policy != metav1alpha1.UpdateRecreate:
		return fmt.Sprintf("keep its value; the annotation %s: recreate on the manifest of this object deletes it "+
			"and creates it again with the new value, but %s",
			annotation(c.adoptions.self, manifests.AnnotationUpdatePolicy), loss)
	}
	return "keep its value; if it is deleted, " + loss
}

// leftOverAdvice returns advice about a Job or Pod with another template that does not belong to the component yet, for
// example one that a hook of Helm left over. An adoption does not recreate it, under any update policy.
func leftOverAdvice(c candidate) string {
	key := c.object.Key
	namespace := ""
	if key.Namespace != "" {
		namespace = " -n " + key.Namespace
	}
	return fmt.Sprintf("%s exists already, from %s, with another template; render it with another name; or, if its work is "+
		"done, delete it, so that it is created and runs; %s: kubectl delete%s %s %s",
		key, c.adoptedFrom(), LossOf(key), namespace, strings.ToLower(key.GroupKind().String()), key.Name)
}

// Shorten returns a message with at most limit bytes. A longer message ends after its first clause, the cause, and with
// " …": the clauses after it are advice, and a remedy without its end is a remedy without what it loses.
func Shorten(message string, limit int) string {
	const cut = " …"
	if len(message) <= limit {
		return strings.ToValidUTF8(message, "")
	}
	cause, _, _ := strings.Cut(message, "; ")
	if strings.Count(cause, "(") > strings.Count(cause, ")") {
		cause += ")"
	}
	return Head(cause, limit-len(cut)) + cut
}

// maxWord is the length of the longest word that Head and Tail leave out as a whole, in bytes. They cut a longer word.
const maxWord = 80

// Head returns the first words of a text, with at most limit bytes. It does not end in the middle of a word, such as
// the name of an object.
func Head(text string, limit int) string {
	if len(text) <= limit {
		return strings.ToValidUTF8(text, "")
	}
	head := text[:limit]
	if end := strings.LastIndexByte(text[:limit+1], ' '); end >= 0 && end >= limit-maxWord {
		head = strings.TrimRight(text[:end], " ")
	}
	return strings.ToValidUTF8(head, "")
}

// Tail returns the last words of a text, with at most limit bytes. It does not begin in the middle of a word.
func Tail(text string, limit int) string {
	if len(text) <= limit {
		return strings.ToValidUTF8(text, "")
	}
	from := len(text) - limit
	if space := strings.IndexByte(text[from-1:], ' '); space >= 0 && space <= maxWord {
		from += space
	}
	return strings.ToValidUTF8(strings.TrimLeft(text[from:], " "), "")
}

// overwriting says what a take-over of an object does to the values that it has, as a clause.
func overwriting(c candidate) string {
	text := "the values of its manifest here then replace those that it has"
	if c.policy == metav1alpha1.UpdateSSAOverride && !c.object.Key.IsExternal() {
		text += ", and values of kubectl or Helm that the manifest does not set are removed, unless it has the annotation " +
			annotation(c.adoptions.self, manifests.AnnotationUpdatePolicy) + ": ssa-merge"
	}
	return text
}

// annotation returns the key of an annotation with a setting of an object of a component.
func annotation(component manifests.Owner, setting string) string {
	return component.Reconciler + "/" + setting
}

// AcceptUnknown returns advice on how to go on with a deletion if the instances of an API group cannot be listed: the
// command with which a person accepts their loss. component is the component that is being deleted.
func AcceptUnknown(group string, component manifests.Key) string {
	if strings.Contains(group, "*") {
		group = "'" + group + "'"
	}
	return fmt.Sprintf("if nothing can be done about that, a person can accept the loss of these instances: fairlead%s "+
		"--accept-unknown %s", CommandFor("delete", component), group)
}

// CommandFor returns the arguments of the program fairlead for a command about a component, each after a space. A
// component of the ready-made operator needs no type.
func CommandFor(command string, component manifests.Key) string {
	arguments := " " + command
	if component.Namespace != "" {
		arguments += " -n " + component.Namespace
	}
	arguments += " "
	if !IsReadyMade(component) {
		arguments += strings.ToLower(component.Kind) + "." + component.Group + "/"
	}
	return arguments + component.Name
}

// IsReadyMade reports whether a component has the type of the ready-made operator, which fairlead apply and fairlead
// plan need.
func IsReadyMade(component manifests.Key) bool {
	return component.Kind == "Component" && component.Group == "fairlead.io"
}
