package externals

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/authorcode"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// inputs are what a pass knows about the externals, by key.
type inputs struct {
	component client.Object
	desired   map[manifests.Key]*manifests.Object
	entries   map[manifests.Key]metav1alpha1.InventoryEntry
}

func (p *SessionInput) inputs() inputs {
	in := inputs{desired: externalsIn(p.Desired), entries: map[manifests.Key]metav1alpha1.InventoryEntry{}}
	for _, e := range p.Inventory {
		if e.External {
			in.entries[plan.KeyOf(e)] = e
		}
	}
	return in
}

// externalsIn returns the externals among objects. They are copies, so that the other manifests are not retained.
func externalsIn(objects []manifests.Object) map[manifests.Key]*manifests.Object {
	found := map[manifests.Key]*manifests.Object{}
	for i := range objects {
		if object := objects[i]; object.Key.IsExternal() {
			found[object.Key] = &object
		}
	}
	return found
}

// keys returns the keys of the externals that are desired or in the inventory.
func (in inputs) keys() []manifests.Key {
	return slices.AppendSeq(slices.Collect(maps.Keys(in.desired)), maps.Keys(in.entries))
}

// enter enters the desired manifest and the entry of the inventory.
func (p *SessionInput) enter(t *step, in inputs) {
	w, r := &t.s.wanted, &t.s.recorded
	previous := w.desired
	w.component, w.desired = in.component, in.desired[w.key]
	if w.desired != nil && previous != nil && isBound(previous) && digests.Template(previous.Digest) == w.desired.Digest {
		w.desired = previous // Snapshot replaces it when the pass has bound values.
	}
	if r.entry = in.entries[w.key]; r.entry.External {
		t.compareRecords(r.creation())
	}
	if !t.s.isUnused() {
		w.driver = p.driver(w.key.Kind)
		t.suspectOtherProcess()
	}
}

func (p *SessionInput) driver(kind string) external.Driver {
	i := slices.IndexFunc(p.Drivers, func(d external.Driver) bool { return d.Info().Kind == kind })
	if i < 0 {
		return nil
	}
	return p.Drivers[i]
}

// references returns the references that the calls for an external may need.
func references(s *situation) []metav1alpha1.Reference {
	if s.isDone() || s.isUnused() {
		return nil
	}
	refs := s.wanted.referencesOf(s.wanted.manifest())
	if s.recorded.state != nil && !s.recorded.state.Gone {
		refs = append(refs, s.recorded.state.References...)
	}
	return refs
}

// enterContents enters the contents of references, and what the handler says about the external.
func (p *SessionInput) enterContents(t *step, contents map[metav1alpha1.Reference]Content) {
	s, w := &t.s, &t.s.wanted
	w.contents, w.unusable = contents, nil
	if w.driver == nil {
		w.account = accountKey{}
		return
	}
	request := s.request(nil)
	findings := check(w.driver, request)
	w.knownID = p.identify(s, findings)
	previous := w.account
	w.account = accountKey{w.driver, findings.Account, digestOfReferences(request.References, request.Credentials)}
	w.unusable = p.problem(s, findings.Invalid)
	if previous != (accountKey{}) && previous != w.account {
		// The failures may be those of the previous handler or of previous credentials, so the calls are repeated at
		// once.
		s.underway.failures, s.observed.failed = nil, nil
		if s.canAsk() {
			t.pollAt(s.now)
		}
	}
}

// check lets a handler check a request. A panic is an error.
func check(driver external.Driver, request external.Request) external.Findings {
	findings, err := authorcode.Call("the handler", func() (external.Findings, error) {
		return driver.Check(request), nil
	})
	if err != nil {
		findings.Invalid = err
	}
	return findings
}

// identify returns the id that an external has, or gets, if it is known before: by its manifest, or by its kind.
func (p *SessionInput) identify(s *situation, findings external.Findings) string {
	applied := s.recorded.applied()
	switch {
	case s.isUncertain():
		// The create was made with the recorded manifest, and the desired one may have another id.
		return check(s.wanted.driver, s.request(applied)).ID
	case s.wanted.externalID() != "":
		return s.wanted.externalID()
	case s.recorded.isLost() && !p.isUnchanged(s), s.wanted.desired == nil && applied == nil:
		return ""
	}
	return findings.ID
}

// isUnchanged reports whether the desired manifest is the manifest of the recorded entry.
func (p *SessionInput) isUnchanged(s *situation) bool {
	desired, entry := s.wanted.desired, s.recorded.entry
	switch {
	case desired == nil:
		return false
	case entry.Digest == "":
		return entry.Revision == p.Revision
	}
	return digests.SameContent(entry.Digest, desired.Digest)
}

// problem returns the failure of an external that no call can be made for. invalid says why its spec cannot be used.
func (p *SessionInput) problem(s *situation, invalid error) *plan.Failure {
	if s.isDone() {
		return nil
	}
	manifest := s.manifest()
	if missing := s.wanted.missing(s.wanted.referencesOf(manifest)); len(missing) > 0 {
		f := plan.Failure{Class: plan.Terminal, Reason: plan.WaitNotFound, Message: strings.Join(missing, "; ")}
		if p.rendersAny(referencesIn(manifest)) {
			f.Class = plan.Transient // Objects of the component itself are created in this pass, or in a later wave.
		}
		return &f
	}
	if invalid != nil && s.wanted.desired != nil && !s.wanted.desired.Settings.Binds() {
		return &plan.Failure{Class: plan.Terminal, Reason: plan.WaitInvalid, Message: invalid.Error()}
	}
	return nil
}

// rendersAny reports whether an object that a reference names is in the apply set.
func (p *SessionInput) rendersAny(refs []metav1alpha1.Reference) bool {
	return slices.ContainsFunc(refs, func(ref metav1alpha1.Reference) bool {
		key := manifests.Key{Kind: string(ref.Kind), Namespace: p.Owner.Namespace, Name: ref.Name}
		return slices.ContainsFunc(p.Desired, func(o manifests.Object) bool { return o.Key == key })
	})
}

// digestOfReferences identifies the contents of references. The names are no part of the digest: equal credentials are
// the same account. It has its full length, because accounts of others must not be met by chance or design.
func digestOfReferences(all ...generator.References) string {
	texts := []string{}
	for _, refs := range all {
		for ref, data := range refs {
			if text, err := json.Marshal([]any{ref.Kind, data}); err == nil {
				texts = append(texts, string(text))
			}
		}
	}
	slices.Sort(texts)
	data, _ := json.Marshal(texts)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
