package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/digests"
)

// MatchResult is the result of an author's comparison of a live object with its manifest. It decides about an existing
// object that was applied before:
//
//	result                  manifest unchanged         manifest changed     only settings changed
//	zero                     nothing                    written              written
//	Accepts                  nothing                    nothing              written
//	Differs                  repaired, with back-off    written              written
//	Accepts and Differs      repaired, with back-off    written              written
//	LeaveUntil               nothing until then         waits until then     waits until then
//	Accepts and LeaveUntil   nothing until then         nothing              waits until then
//	Failed                   unchanged, failed          unchanged, failed    unchanged, failed
type MatchResult struct {
	// Differs says how the object differs from its manifest. It is empty if the object need not be written.
	Differs string
	// Accepts is set if the object need not be written although its manifest changed. A difference counts more.
	Accepts bool
	// LeaveUntil is the time before which the object must not be written.
	LeaveUntil time.Time
	// Failed is set if the comparison itself failed.
	Failed string
}

// Matched are the kinds whose objects an author compares with their manifests.
type Matched map[schema.GroupKind]bool

// ruleUnmatched reads an object whose current version was not compared. The response contains the result.
func ruleUnmatched(c candidate) (decision, bool) {
	if !c.matchedKinds[c.object.Key.GroupKind()] || c.live.MatchResult != nil || c.written() {
		return decision{}, false
	}
	return c.act(VerbRead, ReasonUnmatched), true
}

// ruleMatcherFailed leaves an object unchanged whose comparison failed.
func ruleMatcherFailed(c candidate) (decision, bool) {
	if c.live.MatchResult == nil || c.live.MatchResult.Failed == "" {
		return decision{}, false
	}
	return c.fail(Failure{Class: Terminal, Reason: WaitMatcherFailed, Message: c.live.MatchResult.Failed}), true
}

// IsAccepted reports whether the object need not be written although its manifest changed. v may be nil.
func (v *MatchResult) IsAccepted() bool {
	return v != nil && v.Accepts && v.Differs == "" && v.Failed == ""
}

// accepted reports whether the object keeps the manifest that was applied, because its matcher accepts the object.
// Changed settings are written in any case, because some of them are read from the live object.
func (c candidate) accepted() bool {
	return c.live.MatchResult.IsAccepted() && c.changed() && c.entry.Digest != c.object.Digest && c.live.Digest != "" &&
		!digests.SameContent(c.live.Digest, c.object.Digest) && c.object.Occurrence == 0 && c.last
}

// ruleAccepted leaves an object unchanged that its matcher accepts. The entry keeps the digest and the revision of the
// manifest that was applied, so that each later plan, also after a restart, asks the matcher again.
func ruleAccepted(c candidate) (decision, bool) {
	if !c.accepted() {
		return decision{}, false
	}
	d, _ := ruleInSync(c)
	if c.entry.UID != c.live.UID || c.entry.Digest != c.live.Digest {
		e := entryAfterWrite(c)
		e.Revision, e.Rendition = 0, 0
		d.entry = &e
	}
	return d, true
}

// ruleLeftAlone leaves an object unchanged until the time in its result. A changed manifest waits for that time.
func ruleLeftAlone(c candidate) (decision, bool) {
	v := c.live.MatchResult
	switch {
	case v == nil || !v.LeaveUntil.After(c.now):
		return decision{}, false
	case c.changed():
		return c.wait(WaitLeftAlone, fmt.Sprintf("its manifest changed, but its matcher leaves it alone until %s",
			v.LeaveUntil.UTC().Format(time.RFC3339))), true
	}
	return ruleInSync(c)
}

// scheduleLeftAlone schedules the next plan for the time until which an object is left alone.
func (p *Plan) scheduleLeftAlone(c candidate) {
	if v := c.live.MatchResult; v != nil && v.LeaveUntil.After(c.now) {
		p.planAgainAt(v.LeaveUntil)
	}
}

// repairMatched repairs an object that differs from its manifest by its result. It is written even if the request
// changes nothing, because only the author knows what differs. An object that this pass has written is not written
// again in the pass, although it still differs: its entry gets the result of the write.
func repairMatched(c candidate) (decision, bool) {
	switch {
	case c.live.MatchResult.Differs == "":
		return decision{}, false
	case c.written():
		d, _ := ruleInSync(c)
		d.entry = new(entryAfterWrite(c))
		return d, true
	}
	d := c.update(ReasonDiffers)
	if d.action != nil {
		d.action.Forced = true
	}
	return withBackoff(c, d), true
}
