package plan

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const us, them = "us", "them"

// scene is an object with the facts about it. newScene returns a scene with a desired and recorded object that is in
// sync and ready, changed by the given edits.
type scene struct {
	started    time.Time
	defaults   Policies
	sameInputs bool
	rendition  int64
	trigger    string
	object     manifests.Object
	entry      *metav1alpha1.InventoryEntry
	live       Observed
	result     Result
	contents   Contents
	// namespace is the result of the creation of the namespace of the object.
	namespace Result
	// home is set if the namespace of the object is also a dependent.
	home  bool
	guard Guard
	// matched is set if an author compares the object with its manifest.
	matched bool
	// unbound says which value the object waits for, if it has holes.
	unbound *Unbound
	// refused is the failure of a manifest that the API server would refuse.
	refused *Failure
	// reason is the reason for the removal of the object.
	reason Reason
	// adopt are the objects that the component may take over; nil if it has no list.
	adopt []metav1alpha1.AdoptRule
	// adoptField is the field with these objects, and readyMade is set if the component has the type of the ready-made
	// operator.
	adoptField string
	readyMade  bool
	// unnamed is set if the identity of the component may not get objects of others.
	unnamed bool
	// adoptUnowned permits all objects without an owner, as in a preview.
	adoptUnowned bool
}

func newScene(edits []func(*scene)) scene {
	s := scene{
		reason:   ReasonPruned,
		defaults: Policies{Update: metav1alpha1.UpdateSSAOverride, Adoption: metav1alpha1.AdoptIfUnowned},
		object: manifests.Object{
			Key:     manifests.Key{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"},
			Version: "v1", Scope: manifests.ScopeNamespaced, Stage: manifests.StageWorkloads, Digest: "d1",
		},
		entry: &metav1alpha1.InventoryEntry{
			Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "u1", Digest: "d1",
			Fields: "f1",
		},
		live: Observed{
			Presence: Present, UID: "u1", ResourceVersion: "7", Owner: us, OwnerName: "us", Digest: "d1", Applied: "f1",
			Readiness: ready.Result{State: ready.Ready},
		},
	}
	for _, edit := range edits {
		edit(&s)
	}
	return s
}

func (s scene) facts() Facts {
	f := Facts{
		Owner: us, Names: Names{All: !s.unnamed}, Component: sceneComponent, Defaults: s.defaults, Revision: s.revision(),
		Rendition: s.rendition, Trigger: s.trigger, Now: sceneTime, Started: s.started,
		Desired: []manifests.Object{s.object}, Inventory: Inventory{},
		Results:  map[manifests.Key]Result{s.object.Key: s.result},
		Contents: map[string]Contents{s.object.Key.Name: s.contents},
		Guard:    s.guard, Adoptions: NewAdoptions(sceneOwner("here"), "shop", s.adopt, s.adoptField),
	}
	if s.readyMade {
		f.Component.Group, f.Component.Kind = "fairlead.io", "Component"
	}
	if s.adoptUnowned {
		f.Adoptions = f.Adoptions.Unowned()
	}
	if s.matched {
		f.Matched = Matched{s.object.Key.GroupKind(): true}
	}
	if s.refused != nil {
		f.Refused, f.Hold = map[manifests.Key]Failure{s.object.Key: *s.refused}, true
	}
	if s.unbound != nil {
		f.Unbound = map[manifests.Key]Unbound{s.object.Key: *s.unbound}
	}
	if s.namespace.Attempts > 0 {
		f.Results[manifests.Key{Kind: "Namespace", Name: "shop"}] = s.namespace
	}
	if s.home {
		f.Desired = append(f.Desired, desiredObject(0, manifests.StageNamespaces, "shop"))
	}
	if s.entry != nil {
		s.entry.Revision = s.revision()
		f.Inventory[s.object.Key] = *s.entry
	}
	return f.seen(func(manifests.Key) Observed { return s.live })
}

// seen returns the facts with a snapshot that contains the result of watched for each key.
func (f Facts) seen(watched func(manifests.Key) Observed) Facts {
	f.Live = Snapshot{}
	for _, key := range f.Keys() {
		f.Live[key] = new(watched(key))
	}
	return f
}

// revision returns 1 if the manifest was rendered from the same inputs as the applied manifest, and 0 otherwise.
func (s scene) revision() int64 {
	if s.sameInputs {
		return 1
	}
	return 0
}

func (s scene) candidate() candidate { return newCandidate(s.facts(), &s.object) }

func (s scene) removal() removal {
	e := metav1alpha1.InventoryEntry{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	if s.entry != nil {
		e = *s.entry
	}
	return newRemoval(s.facts(), e, s.reason)
}

// sceneTime is the time of a scene, in seconds since 1970.
var sceneTime = time.Unix(10_000, 0)

// sceneComponent is the component of a scene.
var sceneComponent = manifests.Key{Group: "example.com", Kind: "Shop", Namespace: "a", Name: "us"}

// The functions below are edits of a scene.

func edits(e ...func(*scene)) []func(*scene) { return e }

func unrecorded(s *scene) { s.entry = nil }

// neverWritten enters the object without the result of any write.
func neverWritten(s *scene) { s.entry.UID, s.entry.Digest, s.entry.Fields = "", "", "" }

func absent(s *scene) { s.live = Observed{Presence: Absent} }

func confirmedAbsent(s *scene) { s.live = Observed{Presence: Absent, Confirmed: true, UID: "u1"} }

func unknown(s *scene) {
	s.live = Observed{Presence: Unknown, Reason: "ListFailed", Message: "no answer"}
}

func unwatched(s *scene) {
	s.live = Observed{Presence: Unknown, Reason: WaitUnwatched, Message: "its type cannot be watched"}
}

func unauthorized(s *scene) {
	s.live = Observed{Presence: Unknown, Reason: WaitUnauthorized, Message: "renew the credentials"}
}

func notServed(s *scene) {
	s.live = Observed{Presence: Unknown, Reason: WaitNotServed, Message: "the API server does not serve its type"}
}

func terminating(s *scene) { s.live.Terminating = true }

// heldBy makes a finalizer of another controller hold an object that is being deleted.
func heldBy(finalizer string) func(*scene) {
	return func(s *scene) {
		s.live.Terminating = true
		s.live.Readiness = ready.BeingDeleted(&metav1.ObjectMeta{Finalizers: []string{finalizer}})
	}
}

func ownedByOthers(s *scene) { s.live.Owner, s.live.OwnerName = them, "Component b/them" }

// ownedBy makes another owner own the object. The owner annotation has the given name.
func ownedBy(name string) func(*scene) {
	return func(s *scene) { s.live.Owner, s.live.OwnerName = them, name }
}

// always sets the adoption policy always, which adopts every existing object.
func always(s *scene) { s.object.Settings.AdoptionPolicy = metav1alpha1.AdoptAlways }

// unowned removes the owner from the object. A read has shown that it has no mark of another tool.
func unowned(s *scene) { s.live.Owner, s.live.OwnerName, s.live.Mark = "", "", &ToolMark{} }

// unmarked makes a watch show the object without an owner.
func unmarked(s *scene) { s.live.Mark = nil }

// markedByHelm adds the mark of a Helm release.
func markedByHelm(s *scene) { s.live.Mark = &ToolMark{By: "the Helm release shop/web"} }

// releasedBy adds the mark of a release by a component.
func releasedBy(owner string) func(*scene) {
	return func(s *scene) { s.live.Mark = &ToolMark{By: s.live.Mark.By, ReleasedBy: owner} }
}

// copied makes the object a copy of another one, with the marks of the component, which a read has shown.
func copied(s *scene) {
	s.live.Copied, s.live.Mark = true, &ToolMark{CopyOf: "Deployment.apps shop/first"}
}

func managedBy(managers ...string) func(*scene) { return func(s *scene) { s.live.Managers = managers } }

// adopting lists the objects that the component may take over.
func adopting(rules ...metav1alpha1.AdoptRule) func(*scene) {
	return func(s *scene) { s.adopt = append([]metav1alpha1.AdoptRule{}, rules...) }
}

// listedBy gives the type of the component a field with the objects that it may take over.
func listedBy(field string) func(*scene) { return func(s *scene) { s.adoptField = field } }

// readyMade gives the component the type of the ready-made operator.
func readyMade(s *scene) { s.readyMade, s.adoptField = true, "spec.adopt" }

func adoptingUnowned(s *scene) { s.adoptUnowned = true }

// webRule names the object of a scene.
var webRule = metav1alpha1.AdoptRule{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}

// confirmed names the object of a scene, with a UID.
func confirmed(uid types.UID) metav1alpha1.AdoptRule {
	rule := webRule
	rule.UID = uid
	return rule
}

// sceneOwner is the component of a scene as an owner in a cluster.
func sceneOwner(cluster string) manifests.Owner {
	return manifests.Owner{
		Cluster: cluster, Reconciler: "fairlead.io", Group: sceneComponent.Group, Kind: sceneComponent.Kind,
		Namespace: sceneComponent.Namespace, Name: sceneComponent.Name,
	}
}

// previousCluster is the UID of another cluster.
const previousCluster = "0b1e9a4c-5f0d-4d8e-9a55-3f6f0f2c1d7e"

// ownedElsewhere makes the component own the object in another cluster.
func ownedElsewhere(s *scene) {
	owner := sceneOwner(previousCluster)
	s.live.Owner, s.live.OwnerName = owner.ID(), owner.String()
}

// orphaned removes our label, annotations and managed fields from the object.
func orphaned(s *scene) {
	unowned(s)
	s.live.Digest, s.live.Applied, s.live.Updated = "", "", ""
}

// homeless makes the creation of the object fail because its namespace does not exist. The default policy is to create
// missing namespaces.
func homeless(s *scene) {
	s.defaults.MissingNamespaces = metav1alpha1.MissingNamespacesCreate
	neverWritten(s)
	absent(s)
	s.result = Result{Verb: VerbCreate, Attempts: 1, Failure: &Failure{
		Class: Transient, Reason: WaitNamespaceMissing,
		Message: "namespace shop does not exist",
	}}
}

// namespaceCreated adds the result of the creation of the object's namespace.
func namespaceCreated(failure *Failure) func(*scene) {
	return func(s *scene) { s.namespace = Result{Verb: VerbCreateNamespace, Attempts: 1, Failure: failure} }
}

// recordedPolicy sets the recorded delete policy.
func recordedPolicy(p metav1alpha1.DeletePolicy) func(*scene) {
	return func(s *scene) { s.entry.DeletePolicy = p }
}

// withComponent sets the reason of the removal: the component is being deleted.
func withComponent(s *scene) { s.reason = ReasonDeleted }

func recreatedByOthers(s *scene) { s.live.UID = "u2" }

func newManifest(s *scene) { s.object.Digest = "d2" }

// lookedUpAgain changes the manifest because a looked-up object changed. The inputs stay the same.
func lookedUpAgain(s *scene) { s.object.Digest, s.sameInputs, s.rendition = "d2", true, 1 }

func renderedAgain(s *scene) { s.object.Digest, s.sameInputs = "d2", true }

// newSettings changes only the settings in the manifest.
func newSettings(s *scene) { s.object.Digest = "d1.s2" }

func createOnly(s *scene) { s.object.Settings.ReconcilePolicy = metav1alpha1.ReconcileCreateOnly }

func updateOnly(s *scene) { s.object.Settings.ReconcilePolicy = metav1alpha1.ReconcileUpdateOnly }

func inEachPass(s *scene) { s.object.Settings.ReconcilePolicy = metav1alpha1.ReconcileAlways }

// following sets the reconcile policy on-object-or-component-change. The dependent was applied for the current state of
// the component.
func following(s *scene) {
	s.object.Settings.ReconcilePolicy, s.trigger = metav1alpha1.ReconcileOnObjectOrComponentChange, "t1"
	if s.entry != nil {
		s.entry.Trigger = "t1"
	}
}

// componentChanged changes the component after the dependent was applied.
func componentChanged(s *scene) { s.trigger = "t2" }

// reapplied sets a reapply interval of a minute. The last apply was the given number of seconds ago.
func reapplied(ago int64) func(*scene) {
	return func(s *scene) {
		s.object.Settings.ReapplyInterval = new(time.Minute)
		s.entry.AppliedAt = sceneTime.Unix() - ago
	}
}

// timed sets a timeout of a minute. The last apply was the given number of seconds ago.
func timed(ago int64) func(*scene) {
	return func(s *scene) {
		s.object.Settings.Timeout, s.entry.AppliedAt = time.Minute, sceneTime.Unix()-ago
	}
}

// purgingFailed makes the manifest require that the dependent is deleted when it fails. purgedFailed also records such
// a failure.
func purgingFailed(s *scene) { s.object.Settings.PurgeFailed = true }

func purgedFailed(s *scene) {
	purgingFailed(s)
	s.entry.Failed = "no"
}

// writtenAs sets the digest of the manifest that the live object was written from.
func writtenAs(digest string) func(*scene) { return func(s *scene) { s.live.Digest = digest } }

// startedAgo sets the start of the process to the given number of seconds ago.
func startedAgo(seconds int) func(*scene) {
	return func(s *scene) { s.started = sceneTime.Add(-time.Duration(seconds) * time.Second) }
}

// purging sets a purge order: the dependent is deleted at the end of its wave.
func purging(s *scene) { s.object.Settings.PurgeOrder = new(0) }

// purged makes the dependent purged, and confirmed not to exist.
func purged(s *scene) {
	purging(s)
	s.entry.Completed, s.entry.UID = true, ""
	s.live = Observed{Presence: Absent}
}

// keeps makes the object a Service with one of our fields that the API server retains.
func keeps(s *scene) {
	s.become(manifests.Key{Kind: "Service", Namespace: "shop", Name: "web"})
	s.live.Retained = []string{"spec.clusterIP"}
}

// body sets the content of the manifest.
func body(text string) func(*scene) {
	return func(s *scene) {
		s.object.Body = &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &s.object.Body.Object); err != nil {
			panic(err)
		}
	}
}

func drifted(s *scene) { s.live.Applied = "f2" }

func replacing(s *scene) {
	s.defaults.Update = metav1alpha1.UpdateReplace
	s.live.Applied, s.live.Updated = "", s.live.Applied
}

func recreating(s *scene) { s.object.Settings.UpdatePolicy = metav1alpha1.UpdateRecreate }

func comparedByValue(s *scene) { s.entry.Fields, s.entry.Values = "", "v1" }

func values(v string) func(*scene) { return func(s *scene) { s.live.Values = v } }

func coverage(c Coverage) func(*scene) { return func(s *scene) { s.live.Coverage = c } }

func overridden(fields string) func(*scene) {
	return func(s *scene) { s.live.Response = &Response{Overridden: fields} }
}

func answered(v Verb) func(*scene) {
	return func(s *scene) { s.result = Result{Verb: v, Attempts: 1} }
}

func attempts(n int) func(*scene) { return func(s *scene) { s.result.Attempts = n } }

func failed(c FailureClass, reason WaitReason) func(*scene) {
	return func(s *scene) {
		s.result.Failure = &Failure{Class: c, Reason: reason, Message: "the API server refused it"}
	}
}

func readiness(state ready.State, message string) func(*scene) {
	return func(s *scene) { s.live.Readiness = ready.Result{State: state, Message: message} }
}

// job changes the object to a Job that Kubernetes removes after it finished.
func job(s *scene) {
	s.object.Key.Group, s.object.Key.Kind, s.object.Ephemeral = "batch", "Job", true
	if s.entry != nil {
		s.entry.Group, s.entry.Kind = "batch", "Job"
	}
}

// claim changes the object to a PersistentVolumeClaim.
func claim(s *scene) {
	s.become(manifests.Key{Kind: "PersistentVolumeClaim", Namespace: "shop", Name: "web"})
}

// deletableClaim changes the object to a PersistentVolumeClaim with the delete policy delete.
func deletableClaim(s *scene) {
	claim(s)
	s.object.Settings.DeletePolicy, s.entry.DeletePolicy = metav1alpha1.DeleteDelete, metav1alpha1.DeleteDelete
}

// namespace changes the object to a namespace with the given contents.
func namespace(c Contents) func(*scene) {
	return func(s *scene) {
		s.become(manifests.Key{Kind: "Namespace", Name: "shop"})
		s.object.Stage, s.contents = manifests.StageNamespaces, c
	}
}

func (s *scene) become(key manifests.Key) {
	s.object.Key = key
	s.entry.Group, s.entry.Kind, s.entry.Namespace, s.entry.Name = key.Group, key.Kind, key.Namespace, key.Name
}

// definition changes the object to a CustomResourceDefinition, and sets the state of the guard.
func definition(g Guard) func(*scene) {
	return func(s *scene) {
		s.become(manifests.Key{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "widgets.example.com"})
		s.object.Stage, s.guard = manifests.StageDefinitions, g
	}
}

// inPhase changes the object to an object of the phase pre-delete.
func inPhase(s *scene) {
	s.object.Settings.Phase = manifests.PhasePreDelete
	if s.entry != nil {
		s.entry.Phase = "pre-delete"
	}
}

// passedOver marks the object of a phase as skipped.
func passedOver(s *scene) {
	neverWritten(s)
	s.entry.Completed = true
}

func completedEntry(s *scene) { s.entry.Completed = true }

// finishedAndAbsent makes the object absent. The object had completed its work when the watch last showed it.
func finishedAndAbsent(s *scene) {
	s.live = Observed{Presence: Absent, Finished: true, UID: "u1", Digest: s.live.Digest}
}

// text returns a decision as a text.
func (d decision) text() string {
	var parts []string
	switch {
	case d.guard:
		parts = append(parts, "waits for a guard")
	case d.action != nil:
		parts = append(parts, actionText(*d.action))
	case d.waiting != nil && d.waiting.Failure != nil:
		parts = append(parts, fmt.Sprintf("fails (%s), %s: %s", d.waiting.Failure.Class, d.waiting.Reason, d.waiting.Message))
	case d.waiting != nil:
		parts = append(parts, fmt.Sprintf("waits, %s: %s", d.waiting.Reason, d.waiting.Message))
	default:
		parts = append(parts, "done")
	}
	if d.repair {
		parts = append(parts, "[repair]")
	}
	if d.applied {
		parts = append(parts, "[applied]")
	}
	if d.entry != nil {
		parts = append(parts, "[record"+strings.TrimPrefix(d.entry.String(), strings.Split(d.entry.String(), " ")[0])+"]")
	}
	return strings.Join(parts, " ")
}

func actionText(a Action) string {
	text := fmt.Sprintf("%s: %s", a.Verb, a.Reason)
	if a.TakesOver() {
		text += ", from " + a.Preconditions.Owner
	}
	if a.Preconditions.UID != "" {
		text += fmt.Sprintf(" (uid %s, version %s)", a.Preconditions.UID, a.Preconditions.ResourceVersion)
	}
	if !a.TakesOver() && a.AdoptedFrom != "" && a.AdoptedFrom != "nobody" {
		text += " from " + a.AdoptedFrom
	}
	return text
}
