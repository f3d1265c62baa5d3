package notification

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	eventrecorder "sigs.k8s.io/controller-runtime/pkg/recorder"
)

// repeatAfter is the time after which a message about a component that equals the last one is posted again.
const repeatAfter = 10 * time.Minute

// Manager returns a manager like mgr whose recorders also post their Events. Events about other objects than components
// and their dependents are not posted.
func (p *Poster) Manager(mgr manager.Manager) manager.Manager {
	return posting{Manager: mgr, poster: p}
}

// posting is a manager whose recorders post Events.
type posting struct {
	manager.Manager

	poster *Poster
}

// GetEventRecorder returns a recorder that creates Kubernetes Events, and posts them.
func (m posting) GetEventRecorder(name string) eventrecorder.EventRecorder {
	// Without a name of the host, messages lack the name of the pod.
	host, _ := os.Hostname()
	return recorder{
		EventRecorder: m.Manager.GetEventRecorder(name), poster: m.poster, scheme: m.GetScheme(), name: name, host: host,
	}
}

// recorder creates Kubernetes Events, and posts them.
type recorder struct {
	eventrecorder.EventRecorder

	poster     *Poster
	scheme     *runtime.Scheme
	name, host string
}

// Eventf implements events.EventRecorder. It does not wait for the receiver.
func (r recorder) Eventf(
	regarding, related runtime.Object, eventtype, reason, action, note string, args ...any,
) {
	r.EventRecorder.Eventf(regarding, related, eventtype, reason, action, note, args...)
	r.record(regarding, related, text{kind: eventtype, reason: reason, action: action, note: fmt.Sprintf(note, args...)})
}

// AnnotatedEventf implements events.AnnotatedEventRecorder. The annotations are those of the Kubernetes Event only.
func (r recorder) AnnotatedEventf(
	regarding, related runtime.Object, annotations map[string]string, eventtype, reason, action, note string, args ...any,
) {
	r.EventRecorder.AnnotatedEventf(regarding, related, annotations, eventtype, reason, action, note, args...)
	r.record(regarding, related, text{kind: eventtype, reason: reason, action: action, note: fmt.Sprintf(note, args...)})
}

// record posts an Event about a component, or about a dependent of a component.
func (r recorder) record(regarding, related runtime.Object, t text) {
	if c, ok := regarding.(component); ok {
		r.post(c, nil, t)
		return
	}
	c, isComponent := related.(component)
	dependent, isObject := regarding.(client.Object)
	if isComponent && isObject {
		r.post(c, dependent, t)
	}
}

// post puts the message about a component into the queue, unless it was posted before.
func (r recorder) post(c component, dependent client.Object, t text) {
	kind, err := apiutil.GVKForObject(c, r.scheme)
	if err != nil {
		r.poster.lose(resultDropped, 1, fmt.Errorf("the kind of an object is unknown: %w", err))
		return
	}
	now := r.poster.clock.Now()
	message := newMessage(c, kind, dependent, t, now)
	message.ReportingController, message.ReportingInstance = r.name, r.host
	if r.poster.isRepeated(c, t, message.RelatedObject, now) {
		r.poster.count(resultRepeated, nil)
		return
	}
	body, err := json.Marshal(message)
	if err != nil {
		r.poster.lose(resultDropped, 1, fmt.Errorf("encode the Event: %w", err))
		return
	}
	r.poster.lose(resultDropped, r.poster.queue.add(item{body: body, at: now}), errFull)
}

// lastMessage is the last message about a component.
type lastMessage struct {
	digest [sha256.Size]byte
	at     time.Time
}

// isRepeated reports whether a message equals the last one about the component, although nothing of the component
// changed since. A pass that cannot write the status creates the same Event again and again, for example.
func (p *Poster) isRepeated(c component, t text, dependent *corev1.ObjectReference, now time.Time) bool {
	digest := sha256.Sum256(fmt.Appendf(nil, "%q %q %v", t, c.GetResourceVersion(), dependent))
	known, _ := p.repeats.Get(c.GetUID())
	last, ok := known.(lastMessage)
	if ok && last.digest == digest && now.Sub(last.at) < repeatAfter {
		return true
	}
	p.repeats.Add(c.GetUID(), lastMessage{digest: digest, at: now})
	return false
}
