package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// eventReceiver accepts Events as Flux's notification-controller does.
type eventReceiver struct {
	mu     sync.Mutex
	events []eventv1.Event
}

// ServeHTTP implements http.Handler.
func (r *eventReceiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var event eventv1.Event
	if err := json.NewDecoder(request.Body).Decode(&event); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event)
	w.WriteHeader(http.StatusAccepted)
}

// about returns a function that returns the Events about a component, in their order.
func (r *eventReceiver) about(component *v1alpha1.Component) func() []eventv1.Event {
	return func() []eventv1.Event {
		r.mu.Lock()
		defer r.mu.Unlock()
		return slices.DeleteFunc(slices.Clone(r.events), func(e eventv1.Event) bool {
			return e.InvolvedObject.UID != component.UID
		})
	}
}

// notesAbout returns the notes of the Kubernetes Events about a component.
func notesAbout(ctx context.Context, component *v1alpha1.Component) func() ([]string, error) {
	return func() ([]string, error) {
		list := &eventsv1.EventList{}
		if err := administrator.List(ctx, list, client.InNamespace(component.Namespace)); err != nil {
			return nil, err
		}
		var notes []string
		for _, e := range list.Items {
			if e.Regarding.UID == component.UID {
				notes = append(notes, e.Note)
			}
		}
		return notes, nil
	}
}

// readyReason returns the reason of the condition Ready of a component.
func readyReason(ctx context.Context, component *v1alpha1.Component) string {
	GinkgoHelper()
	Expect(administrator.Get(ctx, client.ObjectKeyFromObject(component), component)).To(Succeed())
	return meta.FindStatusCondition(component.Status.Conditions, metav1alpha1.ConditionReady).Reason
}

// idle is the time in which a component without changes must post nothing.
const idle = 3 * time.Second

var _ = Describe("The address of Events", func() {
	It("gets each Event once, with severity and revision, and nothing while the component is idle", func(ctx SpecContext) {
		receiver := &eventReceiver{}
		server := httptest.NewServer(receiver)
		DeferCleanup(server.Close)
		restartOperator(ctx, "--events-address="+server.URL)

		By("becoming Ready")
		component := &v1alpha1.Component{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: newNamespace(ctx), Name: "shop",
				Annotations: map[string]string{"event.toolkit.fluxcd.io/commit": "sha1:abc", "example.com/note": "own"},
			},
			Spec: v1alpha1.ComponentSpec{Source: inline("settings.yaml", monitored)},
		}
		Expect(administrator.Create(ctx, component)).To(Succeed())
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Eventually(receiver.about(component)).WithTimeout(soon).Should(ContainElement(HaveField("Reason", "Ready")))
		posted := receiver.about(component)()
		Consistently(receiver.about(component)).WithTimeout(idle).WithPolling(idle / 10).Should(HaveLen(len(posted)))
		ready := posted[len(posted)-1]
		Expect(ready.Severity).To(Equal(eventv1.EventSeverityInfo))
		Expect(ready.Message).To(HaveSuffix("1 dependent is ready"))
		Expect(ready.InvolvedObject.APIVersion).To(Equal("fairlead.io/v1alpha1"))
		Expect(ready.InvolvedObject.Kind).To(Equal("Component"))
		Expect(ready.InvolvedObject.Namespace).To(Equal(component.Namespace))
		Expect(ready.ReportingController).To(Equal("fairlead.io"))
		Expect(ready.Metadata).To(HaveKeyWithValue("fairlead.io/revision", "1"))
		Expect(ready.Metadata).To(HaveKeyWithValue("event.toolkit.fluxcd.io/commit", "sha1:abc"))
		Expect(ready.Metadata).NotTo(HaveKey("example.com/note"))

		By("failing")
		change(ctx, component, func(spec *v1alpha1.ComponentSpec) { spec.Source = inline("settings.yaml", "kind: [") })
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Stalled "))
		reason := readyReason(ctx, component)
		Eventually(receiver.about(component)).WithTimeout(soon).Should(ContainElement(And(
			HaveField("Severity", eventv1.EventSeverityError), HaveField("Reason", reason))))

		By("becoming Ready again")
		change(ctx, component, func(spec *v1alpha1.ComponentSpec) { spec.Source = inline("settings.yaml", monitored) })
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Eventually(func() eventv1.Event {
			all := receiver.about(component)()
			return all[len(all)-1]
		}).WithTimeout(soon).Should(HaveField("Reason", "Ready"))
		all := receiver.about(component)()
		again := all[len(all)-1]
		Expect(again.Metadata["fairlead.io/token"]).NotTo(Equal(ready.Metadata["fairlead.io/token"]))
		Consistently(receiver.about(component)).WithTimeout(idle).WithPolling(idle / 10).Should(HaveLen(len(all)))

		By("comparing the texts with those of the Kubernetes Events, which contain no Secrets")
		var texts []string
		for _, event := range all {
			texts = append(texts, event.Message)
		}
		Eventually(notesAbout(ctx, component)).WithTimeout(soon).Should(ConsistOf(texts))
	}, SpecTimeout(2*time.Minute))

	It("delays neither a pass nor the end of the operator if it does not answer", func(ctx SpecContext) {
		release, asked := make(chan struct{}), make(chan struct{}, 100)
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			asked <- struct{}{}
			<-release
		}))
		DeferCleanup(server.Close)
		DeferCleanup(func() { close(release) })
		restartOperator(ctx, "--events-address="+server.URL)

		first := createComponent(ctx, newNamespace(ctx), "first",
			v1alpha1.ComponentSpec{Source: inline("settings.yaml", monitored)})
		Eventually(status(ctx, first)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Eventually(asked).WithTimeout(soon).Should(Receive())
		next := createComponent(ctx, newNamespace(ctx), "next",
			v1alpha1.ComponentSpec{Source: inline("settings.yaml", monitored)})
		Eventually(status(ctx, next)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))

		began := time.Now()
		Expect(stopOperator()).To(Succeed())
		Expect(time.Since(began)).To(BeNumerically("<", 10*time.Second))
		stopOperator = startOperator()
	}, SpecTimeout(2*time.Minute))
})
