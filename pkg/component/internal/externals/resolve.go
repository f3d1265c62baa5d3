package externals

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// resolve returns the changes of states that the answers of a person make. The caller holds the lock.
func (s *Session) resolve() map[manifests.Key]*externalstate.State {
	changes := map[manifests.Key]*externalstate.State{}
	for key, it := range s.owner.items {
		if _, answered := s.pass.Resolved[key]; !answered {
			it.rejectedID = ""
		}
	}
	for key, r := range s.pass.Resolved {
		it := s.owner.items[key]
		if it == nil || !it.isUncertain() && !it.isLost() || r.Token != it.token() {
			continue
		}
		switch {
		case r.Absent:
			changes[key] = nil
			if it.entry.External {
				changes[key] = &externalstate.State{Token: newToken(it.token()), Gone: true}
			}
		case r.ID != "" && r.ID == it.rejectedID:
			continue // The id was looked up already; see unclaimed.
		case r.ID != "":
			changes[key] = it.claimed(r.ID)
		}
		it.missing, it.unobserved, it.rejection = absence{}, nil, ""
	}
	return changes
}

// claimed returns the state with an id that a person gave. Until an observation confirms the id, the intent stays. If
// the state was lost, Since stays zero: the time of the create is not known, so Create must not be repeated with its
// token; see mayRepeat.
func (it *item) claimed(id string) *externalstate.State {
	claimed := it.restored(id)
	claimed.Intent = externalstate.IntentCreate
	return claimed
}

// unclaimed records that the id that a person gave is not that of the external. problem says why. Nothing is created,
// and the person is asked again.
func (it *item) unclaimed(problem string) {
	id := it.state.ID
	it.owner.later(it, false, result{
		token: it.state.Token,
		change: func(s externalstate.State) *externalstate.State {
			s.ID, s.Intent = "", externalstate.IntentCreate
			return &s
		},
		done: func() {
			it.sent, it.missing, it.answer = true, absence{}, nil
			it.rejectedID = id
			it.rejection = fmt.Sprintf("the external %q, which the answer named, %s, and nothing was created", id, problem)
			it.changed()
		},
	})
}

// restored returns the state of an external whose id was found.
func (it *item) restored(id string) *externalstate.State {
	restored := externalstate.State{Token: it.token()}
	if restored.Token == "" {
		restored.Token = newToken("")
	}
	if it.state != nil && it.damaged == "" {
		restored = *it.state
	} else if it.desired != nil {
		// The desired manifest is recorded without its digest, because it is not known which manifest was applied. So it is
		// applied now.
		restored.Manifest, restored.References = it.recorded(*it.desired)
		restored.Manifest = withoutDigest(restored.Manifest, it.owner.owner.Reconciler)
	}
	restored.ID, restored.Intent = id, externalstate.IntentNone
	return &restored
}

// withoutDigest returns a manifest without the annotation that identifies it.
func withoutDigest(manifest json.RawMessage, reconciler string) json.RawMessage {
	var body unstructured.Unstructured
	if utiljson.Unmarshal(manifest, &body.Object) != nil {
		return manifest
	}
	annotations := body.GetAnnotations()
	delete(annotations, reconciler+"/"+manifests.AnnotationDigest)
	body.SetAnnotations(annotations)
	text, err := json.Marshal(body.Object)
	if err != nil {
		return manifest
	}
	return text
}

// restore records the id of an external whose state was lost. The caller holds the lock.
func (o *owner) restore(it *item, id string) {
	if it.saving {
		return
	}
	it.saving = true
	o.manager.calls.Go(func() {
		ctx, end := o.manager.outliving(maxRecording)
		defer end()
		o.recording.Lock()
		defer o.recording.Unlock()
		err := o.load(ctx)
		o.mu.Lock()
		restored := it.restored(id)
		o.mu.Unlock()
		if err == nil {
			err = o.write(ctx, map[manifests.Key]*externalstate.State{it.key: restored})
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		it.saving = false
		if err != nil {
			it.unobserved = &failed{failure: plan.Failure{
				Class: plan.Transient, Reason: plan.WaitCallFailed, Message: fmt.Sprintf("record its state: %v", err),
			}, attempts: 1}
		}
		it.missing, it.sent = absence{}, false
		it.pollAt(o.manager.now().Add(minBackoff))
		it.changed()
	})
}
