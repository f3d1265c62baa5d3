package notification

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	eventrecorder "sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// fakeManager is a manager with a fake recorder.
type fakeManager struct {
	manager.Manager

	scheme   *runtime.Scheme
	recorder *events.FakeRecorder
}

func (m fakeManager) GetScheme() *runtime.Scheme { return m.scheme }

func (m fakeManager) GetEventRecorder(string) eventrecorder.EventRecorder { return m.recorder }

// newRecorder returns a recorder of a Poster, and the recorder of Kubernetes Events.
func newRecorder(t *testing.T, p *Poster) (eventrecorder.EventRecorder, *events.FakeRecorder) {
	t.Helper()
	scheme, created := runtime.NewScheme(), events.NewFakeRecorder(maxWaiting*3)
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return p.Manager(fakeManager{scheme: scheme, recorder: created}).GetEventRecorder("fairlead.io"), created
}

// waiting returns the messages in the queue.
func waiting(t *testing.T, p *Poster) []eventv1.Event {
	t.Helper()
	all := make([]eventv1.Event, len(p.queue.waiting))
	for i, found := range p.queue.waiting {
		if err := json.Unmarshal(found.body, &all[i]); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestARecorderCreatesAndPostsEvents(t *testing.T) {
	dependent := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "front"}}
	dependent.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
	for _, c := range []struct {
		name   string
		record func(eventrecorder.EventRecorder)
		want   string
		posted []string
	}{
		{
			"an Event about a component",
			func(r eventrecorder.EventRecorder) {
				r.Eventf(shop(), nil, "Normal", "Ready", "Reconcile", "%d %s", 2, "dependents")
			},
			"Normal Ready 2 dependents",
			[]string{"info Ready Reconcile: 2 dependents"},
		},
		{
			"an Event with annotations",
			func(r eventrecorder.EventRecorder) {
				r.AnnotatedEventf(shop(), nil, map[string]string{"a": "b"}, "Warning", "Failed", "Reconcile", "%s", "why")
			},
			"Warning Failed why",
			[]string{"error Failed Reconcile: why"},
		},
		{
			"an Event about a dependent",
			func(r eventrecorder.EventRecorder) {
				r.Eventf(dependent, shop(), "Normal", "Repaired", "Reconcile", "Drifted")
			},
			"Normal Repaired Drifted",
			[]string{"info Repaired Reconcile: Service apps/front: Drifted"},
		},
		{
			"an Event about another object",
			func(r eventrecorder.EventRecorder) { r.Eventf(dependent, nil, "Normal", "Seen", "See", "x") },
			"Normal Seen x", nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := newPoster(t, "http://events.example.com")
			r, created := newRecorder(t, p)
			c.record(r)
			if got := <-created.Events; !strings.HasPrefix(got, c.want) {
				t.Errorf("created %q", got)
			}
			var posted []string
			for _, m := range waiting(t, p) {
				posted = append(posted, m.Severity+" "+m.Reason+" "+m.Action+": "+m.Message)
				if m.InvolvedObject.APIVersion != "fairlead.io/v1alpha1" || m.InvolvedObject.Kind != "Component" ||
					m.ReportingController != "fairlead.io" || m.ReportingInstance == "" || m.Timestamp.IsZero() {
					t.Errorf("posted %+v", m)
				}
			}
			if diff := cmp.Diff(c.posted, posted); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnEventOfAnUnknownKindIsLost(t *testing.T) {
	p, log := newPoster(t, "http://events.example.com")
	r := recorder{EventRecorder: events.NewFakeRecorder(1), poster: p, scheme: runtime.NewScheme()}
	r.Eventf(shop(), nil, "Normal", "Ready", "Reconcile", "x")
	if counts(t, p)[resultDropped] != 1 || len(log.all()) != 1 {
		t.Errorf("%v, logged %v", counts(t, p), log.all())
	}
}

func TestAnEqualEventOfAnUnchangedComponentIsPostedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPoster(t, "http://events.example.com")
		r, created := newRecorder(t, p)
		c := shop()
		tell := func(note string) { r.Eventf(c, nil, "Warning", "StatusRefused", "Reconcile", "%s", note) }
		for range 5 {
			tell("a webhook refuses the status")
			time.Sleep(time.Minute)
		}
		if n := len(waiting(t, p)); n != 1 || len(created.Events) != 5 {
			t.Errorf("%d messages, %d Events", n, len(created.Events))
		}
		for _, next := range []func(){
			func() { tell("another webhook refuses the status") },
			func() { tell("a webhook refuses the status") },
			func() { c.ResourceVersion = "100"; tell("a webhook refuses the status") },
			func() { c = shop(); c.UID = "4712"; tell("a webhook refuses the status") },
			func() { time.Sleep(repeatAfter); tell("a webhook refuses the status") },
		} {
			before := len(waiting(t, p))
			if next(); len(waiting(t, p)) != before+1 {
				t.Errorf("%d messages after %d", len(waiting(t, p)), before)
			}
		}
		if n := counts(t, p)[resultRepeated]; n != 4 {
			t.Errorf("%d repeated messages", n)
		}
	})
}

func TestARecorderNeverWaitsForTheReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		p, log := simulate(t, func(r *http.Request) (int, error) {
			requests++
			<-r.Context().Done()
			return 0, errors.New("no answer")
		})
		stop := p.Start(t.Context())
		r, created := newRecorder(t, p)
		began := time.Now()
		const sent = maxWaiting * 2
		c := shop()
		for range sent {
			c.Generation++
			r.Eventf(c, nil, "Normal", "Ready", "Reconcile", "%d", c.Generation)
			synctest.Wait()
		}
		if took := time.Since(began); took != 0 || len(created.Events) != sent {
			t.Errorf("%d Events took %s", len(created.Events), took)
		}
		if requests != 1 || len(log.all()) != 1 || !strings.Contains(log.all()[0], errFull.Error()) {
			t.Errorf("%d requests, logged %v", requests, log.all())
		}
		stop()
		if n := counts(t, p)[resultDropped]; n != sent {
			t.Errorf("%d Events were dropped", n)
		}
		if lines := log.all(); len(lines) != 2 || !strings.Contains(lines[1], `"lost"=`) {
			t.Errorf("logged %v", lines)
		}
	})
}
