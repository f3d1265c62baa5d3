package externals

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
)

// Resolution is the answer of a person: the id of the external, or that it does not exist.
type Resolution struct {
	Token  string `json:"token"`
	ID     string `json:"id,omitempty"`
	Absent bool   `json:"absent,omitempty"`
}

// resolve returns the state that the answer of a person makes. next is nil if the record is to be removed. changes is
// false if no person answered, or if the answer is about another attempt.
func (p *SessionInput) resolve(t *step) (next *externalstate.State, changes bool) {
	s, o := &t.s, &t.s.observed
	answer, answered := p.Resolved[s.wanted.key]
	if !answered {
		o.rejectedID = ""
		return nil, false
	}
	if !s.isUncertain() && !s.recorded.isLost() || answer.Token != s.recorded.token() {
		return nil, false
	}
	switch {
	case answer.Absent:
		changes = true
		if s.recorded.entry.External {
			next = &externalstate.State{Token: newToken(s.recorded.token()), Gone: true}
		}
	case answer.ID != "" && answer.ID == o.rejectedID:
		return nil, false // The id was looked up already; see unclaimed.
	case answer.ID != "":
		// Until an observation confirms the id, the intent stays. If the state was lost, Since stays zero: the time of the
		// create is not known, so Create must not be repeated with its token; see mayRepeat.
		next, changes = restored(answer.ID, s), true
		next.Intent = externalstate.IntentCreate
	}
	o.missing, o.failed, o.rejection = absence{}, nil, ""
	return next, changes
}

// restored returns the state of an external whose id was found.
func restored(id string, s *situation) *externalstate.State {
	next := externalstate.State{Token: s.recorded.token()}
	if next.Token == "" {
		next.Token = newToken("")
	}
	if s.recorded.state != nil {
		next = *s.recorded.state
	} else if s.wanted.desired != nil {
		// The desired manifest is stored without its digest, because it is not known which manifest was applied. So it is
		// applied now.
		next.Manifest, next.References = s.wanted.toRecord(s.wanted.desired)
		next.Manifest = withoutDigest(next.Manifest, s.wanted.owner.Reconciler)
	}
	next.ID, next.Intent = id, externalstate.IntentNone
	return &next
}

// withoutDigest returns a manifest without the annotation that identifies it.
func withoutDigest(manifest json.RawMessage, reconciler string) json.RawMessage {
	var body map[string]any
	if utiljson.Unmarshal(manifest, &body) != nil {
		return manifest
	}
	unstructured.RemoveNestedField(body, "metadata", "annotations", reconciler+"/"+marks.AnnotationDigest)
	text, err := json.Marshal(body)
	if err != nil {
		return manifest
	}
	return text
}
