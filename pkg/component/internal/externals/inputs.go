package externals

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// enter enters the desired objects and the inventory into the items, and returns the references that they need. The
// caller holds the lock.
func (s *Session) enter() []metav1alpha1.Reference {
	o := s.owner
	former := map[manifests.Key]*manifests.Object{}
	for key, it := range o.items {
		former[key] = it.desired
		it.desired, it.entry = nil, metav1alpha1.InventoryEntry{}
	}
	for i := range s.pass.Desired {
		if !s.pass.Desired[i].Key.IsExternal() {
			continue
		}
		object := s.pass.Desired[i] // A copy, so that the item does not retain the other manifests of the set.
		it := o.item(object.Key)
		it.desired = &object
		if f := former[object.Key]; f != nil && isBound(f) && digests.Template(f.Digest) == object.Digest {
			it.desired = f // Snapshot replaces it when the pass has bound values.
		}
	}
	for _, e := range s.pass.Inventory {
		if e.External {
			it := o.item(plan.KeyOf(e))
			it.entry = e
			it.compare(it.creation())
		}
	}
	var refs []metav1alpha1.Reference
	for key, it := range o.items {
		if it.isUnused() {
			o.manager.polls.remove(it)
			it.leaveAccount()
			delete(o.items, key)
			continue
		}
		it.driver = s.driver(key.Kind)
		it.suspect()
		refs = append(refs, it.references()...)
	}
	return refs
}

// isBound reports whether the holes of a manifest are filled. A manifest without holes is not bound.
func isBound(o *manifests.Object) bool { return digests.Template(o.Digest) != o.Digest }

// hasHoles reports whether the holes of the desired manifest are not filled, because no pass has bound values yet.
func (it *item) hasHoles() bool {
	return it.desired != nil && it.desired.Settings.Binds() && !isBound(it.desired)
}

// isUnused reports whether an external is neither desired nor recorded.
func (it *item) isUnused() bool {
	return it.desired == nil && !it.entry.External && it.state == nil && it.writing == nil && !it.saving
}

func (s *Session) driver(kind string) external.Driver {
	i := slices.IndexFunc(s.pass.Drivers, func(d external.Driver) bool { return d.Info().Kind == kind })
	if i < 0 {
		return nil
	}
	return s.pass.Drivers[i]
}

// references returns the references of the manifests of an item.
func (it *item) references() []metav1alpha1.Reference {
	if it.isDone() {
		return nil
	}
	var refs []metav1alpha1.Reference
	if it.desired != nil {
		if whole, err := it.desired.Whole(); err == nil {
			refs, _ = manifests.ExternalReferences(whole.Body)
		}
	}
	if it.state != nil && !it.state.Gone {
		refs = append(refs, it.state.References...)
	}
	return append(refs, it.credentials()...)
}

// isDone reports whether no more calls are made for the external, because it is deleted or released.
func (it *item) isDone() bool {
	return it.desired == nil && it.state != nil && it.state.Gone && it.damaged == ""
}

// readReferences enters the contents of references, and finds the account of each item. The caller holds the lock.
func (s *Session) readReferences(contents map[metav1alpha1.Reference]Content) {
	o := s.owner
	clear(o.secrets)
	for ref, c := range contents {
		o.secrets[ref] = secret{data: c.Data, missing: c.Missing}
	}
	for _, it := range o.items {
		it.unusable = nil
		if it.driver == nil {
			it.leaveAccount()
			continue
		}
		request := it.request(nil)
		findings, err := guard(func() (external.Findings, error) { return it.driver.Check(request), nil })
		if err != nil {
			findings.Invalid = err
		}
		it.knownID = s.identify(it, findings)
		former := it.account
		it.use(accountKey{
			it.driver, findings.Account, digestOfReferences(request.References, request.Credentials),
		})
		it.unusable = it.problem(findings, s.pass.Desired)
		if former != nil && former != it.account {
			// The failures may be those of the former handler or of former credentials, so the calls are repeated at once.
			it.failures, it.unobserved = nil, nil
			if it.canAsk() {
				it.pollAt(o.manager.now())
			}
		}
	}
}

// identify returns the id that an external has, or gets, if it is known before: by its manifest, or by its kind.
func (s *Session) identify(it *item, findings external.Findings) string {
	applied := it.applied()
	switch {
	case it.isUncertain():
		// The create was made with the recorded manifest, and the desired one may have another id.
		created, err := guard(func() (external.Findings, error) { return it.driver.Check(it.request(applied)), nil })
		if err != nil {
			return ""
		}
		return created.ID
	case it.desired != nil && it.desired.Settings.ExternalID() != "":
		return it.desired.Settings.ExternalID()
	case it.isLost() && !s.isUnchanged(it), it.desired == nil && applied == nil:
		return ""
	}
	return findings.ID
}

// isUnchanged reports whether the desired manifest is the manifest of the recorded entry.
func (s *Session) isUnchanged(it *item) bool {
	if it.desired == nil {
		return false
	}
	if it.entry.Digest == "" {
		return it.entry.Revision == s.pass.Revision
	}
	return digests.SameContent(it.entry.Digest, it.desired.Digest)
}

// problem returns the failure of an item that no call can be made for.
func (it *item) problem(findings external.Findings, desired []manifests.Object) *plan.Failure {
	if it.isDone() {
		return nil
	}
	manifest := it.applied()
	if it.desired != nil {
		if whole, err := it.desired.Whole(); err == nil {
			manifest = whole.Body.Object
		}
	}
	refs, _ := manifests.ExternalReferences(&unstructured.Unstructured{Object: manifest})
	if missing := it.owner.missing(append(refs, it.credentials()...)); len(missing) > 0 {
		f := plan.Failure{Class: plan.Terminal, Reason: plan.WaitNotFound, Message: strings.Join(missing, "; ")}
		if it.areDesired(manifest, desired) {
			f.Class = plan.Transient // Objects of the component itself are created in this pass, or in a later wave.
		}
		return &f
	}
	if findings.Invalid != nil && it.desired != nil && !it.desired.Settings.Binds() {
		return &plan.Failure{Class: plan.Terminal, Reason: plan.WaitInvalid, Message: findings.Invalid.Error()}
	}
	return nil
}

// areDesired reports whether an object that the manifest of an external refers to is in the apply set.
func (it *item) areDesired(manifest map[string]any, desired []manifests.Object) bool {
	refs, _ := manifests.ExternalReferences(&unstructured.Unstructured{Object: manifest})
	return slices.ContainsFunc(refs, func(ref metav1alpha1.Reference) bool {
		key := manifests.Key{Kind: string(ref.Kind), Namespace: it.owner.name.Namespace, Name: ref.Name}
		return slices.ContainsFunc(desired, func(o manifests.Object) bool { return o.Key == key })
	})
}
