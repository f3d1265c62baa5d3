package externals

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// item is one external of a component: what is recorded of it, and what the last calls answered. The lock of its owner
// guards it.
type item struct {
	owner  *owner
	key    manifests.Key
	driver external.Driver
	// account bounds the calls; nil if the item cannot be called yet.
	account *account
	poll    poll

	// desired is the manifest of the apply set; nil if the external is not desired. entry is the recorded entry; zero if
	// there is none.
	desired *manifests.Object
	entry   metav1alpha1.InventoryEntry
	// state is the recorded state; nil if there is none. damaged says why it cannot be used.
	state   *externalstate.State
	damaged string
	// unusable says why no call can be made, such as a missing reference.
	unusable *plan.Failure
	// knownID is the id that the manifest names, or the id that the kind knows before.
	knownID string

	// rejectedID is the id in the last answer of a person that was looked up and is not that of the external. It is empty
	// when the answer is withdrawn. rejection says why it is not.
	rejectedID, rejection string

	// existing is the id of an external that Create found in place of a new one.
	existing string

	// sent is set if Create may have been called for the current token, and its effect is not known.
	sent bool
	// repeated is set if the last call of Create repeated one whose effect is not known.
	repeated bool
	// createError is the error of a Create whose effect is not known.
	createError string
	// ownIntent is the intent of a create that this process recorded.
	ownIntent intent
	// recordedAt is the time at which this process recorded its last attempt to create or to delete the external.
	recordedAt time.Time
	// lostCreation is the token of a create of another process whose recorded state is lost. Its call may take effect
	// until the time written.
	lostCreation string
	// foreignAttempt is the time of the last attempt of another process to delete the external, and foreignUntil the time
	// until which its call may take effect.
	foreignAttempt, foreignUntil time.Time
	// writing is the call under way that writes; nil if there is none. saving is set while its result is being recorded.
	writing *underway
	saving  bool
	// observing is set while a call asks for the state. asked is set after the first answer of any kind.
	observing, asked bool
	// writes counts the calls that write.
	writes int
	// firstAsked is the time of the first question in this process.
	firstAsked time.Time

	// answer is the last answer about an external that exists; nil if there is none. answeredAt is its time.
	answer     *external.Answer
	answeredAt time.Time
	// unverified is set from a write to the next observation. Until then the answer may show the state before the write.
	unverified bool
	// missing is the absence, as far as it is known.
	missing absence
	// written is the time at which the last call that writes ended, or may have ended.
	written time.Time
	// deleteSent is set after Delete succeeded in this process.
	deleteSent bool
	// unobserved is the failure of the last observations; nil after a success.
	unobserved *failed
	// failures are the failures of the calls that write, by verb.
	failures map[plan.Verb]*failed
	// immutable are the changed fields that cannot be changed, for the manifest with the digest immutableOf.
	immutable   []string
	immutableOf string

	// reported is set after an event said that the inventory lacks the external.
	reported bool
	// status is the state for the metrics.
	status Status
	// version counts the changes of the facts; fingerprint identifies the current ones.
	version     int64
	fingerprint string
}

// intent identifies a recorded intent of a create. Each process that continues a create counts another attempt.
type intent struct {
	token    string
	attempts int
	// recorded is set if the entry of the inventory said before that a create has begun.
	recorded bool
}

// isOutdated reports whether the facts about the external changed since an action was planned.
func (it *item) isOutdated(a plan.Action) bool {
	return a.Preconditions.ResourceVersion != "" && a.Preconditions.ResourceVersion != it.resourceVersion()
}

// resourceVersion identifies the current facts.
func (it *item) resourceVersion() string { return fmt.Sprintf("x%d", it.version) }

// differs says how the external differs from its manifest. It is empty until an observation after the last write.
func (it *item) differs() string {
	if it.unverified {
		return ""
	}
	return it.answer.Differs
}

// isOwned reports whether the recorded state says that the external with its id belongs to the component.
func (it *item) isOwned() bool {
	return it.state != nil && it.damaged == "" && it.state.ID != "" && !it.state.Gone
}

// recordedCreation is the creation that the answers about an external belong to, and the damage of its record.
type recordedCreation struct{ token, damaged string }

func (it *item) creation() recordedCreation {
	if it.state == nil {
		return recordedCreation{damaged: it.damaged}
	}
	return recordedCreation{it.state.Token, it.damaged}
}

// compare compares the recorded state with the entry of the inventory. If the entry names a later creation, an older
// version of the Secret was restored. If the creation is another one than before, the answers are forgotten.
func (it *item) compare(before recordedCreation) {
	if it.state != nil && it.damaged == "" && creation(it.recordedToken()) > creation(it.state.Token) {
		it.state, it.damaged = nil, olderVersion
	}
	if before != (recordedCreation{}) && before != it.creation() {
		it.forgetAnswers()
	}
}

const olderVersion = "an older version of its Secret was restored"

// isGone reports whether the external is recorded as deleted or released.
func (it *item) isGone() bool { return it.state != nil && it.damaged == "" && it.state.Gone }

// underway is a call that writes and has not ended.
type underway struct {
	verb  plan.Verb
	since time.Time
}

// absence is what is known about the absence of an external. An external is absent only if two answers say so, the
// second one at least the settle time after the first one and after the last write.
type absence struct {
	first     time.Time
	confirmed bool
}

// isUncertain reports whether Create may have had an effect that is not recorded.
func (it *item) isUncertain() bool {
	return it.state != nil && it.state.Intent == externalstate.IntentCreate && it.state.ID == "" && it.sent &&
		it.writing == nil && !it.saving
}

// isClaimed reports whether a person gave the id of the external, and no observation has confirmed it.
func (it *item) isClaimed() bool {
	return it.isOwned() && it.state.Intent == externalstate.IntentCreate
}

// isJustClaimed reports whether no observation has been made with the id that a person gave.
func (it *item) isJustClaimed() bool {
	return it.isClaimed() && !it.observing && it.unobserved == nil && it.missing.first.IsZero()
}

// isLost reports whether the external was recorded as created, and its state is gone or damaged.
func (it *item) isLost() bool {
	return it.damaged != "" && (it.entry.Begun || it.state != nil) || it.entry.Begun && it.state == nil
}

// id returns the id for an observation, or an empty text if it is not known.
func (it *item) id() string {
	if it.isOwned() {
		return it.state.ID
	}
	return cmp.Or(it.knownID, it.existing)
}

// recordedID returns the recorded id, also that of an external that was released.
func (it *item) recordedID() string {
	if it.state == nil {
		return ""
	}
	return it.state.ID
}

// token returns the token of the external, or that of the inventory if the state is lost.
func (it *item) token() string {
	if it.state != nil && it.damaged == "" {
		return it.state.Token
	}
	return it.recordedToken()
}

// recordedToken returns the token of the last creation that the inventory records.
func (it *item) recordedToken() string {
	if it.isCreationRecorded() {
		return it.entry.CreationToken
	}
	return string(it.entry.UID)
}

// isCreationRecorded reports whether the inventory records the begin of a create, and not its effect.
func (it *item) isCreationRecorded() bool {
	return creation(it.entry.CreationToken) > creation(string(it.entry.UID))
}

// info describes the kind. It is empty without a driver.
func (it *item) info() external.Info {
	if it.driver == nil {
		return external.Info{}
	}
	return it.driver.Info()
}

// canAsk reports whether a call can show whether the external exists.
func (it *item) canAsk() bool {
	if it.driver == nil || it.unusable != nil || it.account == nil {
		return false
	}
	if it.isGone() {
		// Meanwhile somebody else may have created an external with the same id.
		return it.desired != nil && it.knownID != ""
	}
	return it.id() != "" || it.mustFind()
}

// mustFind reports whether the external must be found by its token.
func (it *item) mustFind() bool {
	return (it.isUncertain() || it.isLost()) && it.info().Finds && it.token() != ""
}

// spec returns the spec in a manifest as JSON, or nil.
func spec(manifest map[string]any) json.RawMessage {
	value, found := manifest["spec"]
	if !found {
		return json.RawMessage("{}")
	}
	data, err := json.Marshal(value)
	if err != nil {
		return json.RawMessage("{}")
	}
	return data
}

// applied returns the manifest that was applied last, or nil.
func (it *item) applied() map[string]any {
	if it.state == nil || len(it.state.Manifest) == 0 {
		return nil
	}
	var manifest map[string]any
	if utiljson.Unmarshal(it.state.Manifest, &manifest) != nil {
		return nil
	}
	return manifest
}

// credentials returns the references that the driver itself needs.
func (it *item) credentials() []metav1alpha1.Reference {
	referrer, ok := it.driver.(external.Referrer)
	if !ok {
		return nil
	}
	var refs []metav1alpha1.Reference
	for _, ref := range referrer.References() {
		refs = append(refs, metav1alpha1.Reference{Kind: ref.Kind, Name: ref.Name, Credential: true})
	}
	return refs
}

// referencesOf returns the references that the calls with a manifest need.
func (it *item) referencesOf(manifest map[string]any) []metav1alpha1.Reference {
	refs, _ := manifests.ExternalReferences(&unstructured.Unstructured{Object: manifest})
	for _, ref := range it.credentials() {
		if !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// request returns the request of a call. manifest is the manifest whose spec and references the call uses; nil means
// the desired one, or else the one that was applied last.
func (it *item) request(manifest map[string]any) external.Request {
	applied, unbound := it.applied(), manifest == nil && it.hasHoles()
	if manifest == nil && it.desired != nil {
		if whole, err := it.desired.Whole(); err == nil {
			manifest = whole.Body.Object
		}
	}
	if manifest == nil {
		manifest = applied
	}
	r := external.Request{
		Component: it.owner.component, Key: it.key, Spec: spec(manifest), ID: it.id(), Token: it.token(),
		Credentials: it.owner.contentsOf(it.credentials()),
	}
	if refs, err := manifests.ExternalReferences(&unstructured.Unstructured{Object: manifest}); err == nil {
		r.References = it.owner.contentsOf(refs)
	}
	if applied != nil {
		r.Applied = spec(applied)
	}
	if applied != nil && unbound {
		r.Spec = r.Applied // The applied manifest has the values that were bound last.
	}
	if it.state != nil {
		r.State = it.state.Data
	}
	return r
}
