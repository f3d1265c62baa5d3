package plan

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Unbound says why the holes of an object are not filled.
type Unbound struct {
	// Message names the missing exports and the objects that export them. It contains no values of Secrets.
	Message string
	// Failed is set if the evaluation of a hole failed, so that waiting does not help.
	Failed bool
	// Missing are the names of the missing exports, and Exporters the objects that export them.
	Missing   []string
	Exporters []manifests.Key
}

// IsReady reports whether the object is ready.
func (o Observed) IsReady() bool { return o.Readiness.State == ready.Ready }

// ruleUnbound makes an object wait for the values that it binds. An applied object keeps the values that were applied.
func ruleUnbound(c candidate) (decision, bool) {
	if c.unbound == nil {
		return decision{}, false
	}
	message := c.unbound.Message
	applied := c.entry.Digest != "" && c.live.Presence == Present && digests.Template(c.entry.Digest) == c.object.Digest
	if applied {
		message += "; the applied values stay"
	}
	d := c.wait(WaitExport, message)
	if c.unbound.Failed {
		d = c.fail(Failure{Class: Terminal, Reason: WaitBindingFailed, Message: message})
	}
	d.applied = applied
	return d, true
}

// waitsForValues reports whether an object waits for values that it binds.
func waitsForValues(d decision) bool {
	return d.waiting != nil && (d.waiting.Reason == WaitExport || d.waiting.Reason == WaitBindingFailed)
}

// differInValues reports whether two manifests, given by their digests, differ only in the values that they bind.
func differInValues(applied, current string) bool {
	template := digests.Template(applied)
	return template != applied && applied != current && template == digests.Template(current)
}

// ruleUnread reads an object in sync whose exports the watch does not show: once after each change, and after a start
// of the process.
func ruleUnread(c candidate) (decision, bool) {
	unread := c.live.Exports.areUnread(c.object.Key.GroupKind())
	if len(c.object.Settings.Exports()) == 0 || !unread || c.written() || c.result.Verb == VerbRead {
		return decision{}, false
	}
	d := c.act(VerbRead, ReasonExports)
	d.repair = true
	return d, true
}

// ruleUnreadKept is ruleUnread for objects of the component whose reconcile policy permits no update.
func ruleUnreadKept(c candidate) (decision, bool) {
	if c.updates() || c.live.Presence != Present || c.live.Owner != c.owner || c.live.Terminating {
		return decision{}, false
	}
	return ruleUnread(c)
}

// ruleUnexported returns a failure for a ready object if the expression of an export failed. An export that reads a
// missing field is no failure: objects that bind the value wait for it.
func ruleUnexported(c candidate) (decision, bool) {
	d, failed := unexported(c)
	if !failed || !c.live.IsReady() {
		return decision{}, false
	}
	if done := complete(c); done.entry != nil {
		d.entry = done.entry
	}
	return d, true
}

// unexported returns the failure of the exports whose expressions failed.
func unexported(c candidate) (decision, bool) {
	var texts []string
	for _, e := range c.object.Settings.Exports() {
		if _, failure, ok := c.live.Exports.Value(e.Name); !ok && !failure.Missing {
			texts = append(texts, fmt.Sprintf("export %s: %s", e.Name, failure.Message))
		}
	}
	if len(texts) == 0 {
		return decision{}, false
	}
	d := c.fail(Failure{Class: Terminal, Reason: WaitExportFailed, Message: strings.Join(texts, "; ")})
	d.applied = true
	return d, true
}
