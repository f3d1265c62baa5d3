package cli_test

import (
	"context"
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

// tell creates an event in the way of an operator.
func tell(ctx context.Context, namespace, kind, reason, note string, of client.Object, gvk schema.GroupVersionKind) {
	GinkgoHelper()
	e := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "e-"}, EventTime: metav1.NewMicroTime(time.Now()),
		Type: kind, Reason: reason, Note: note, Action: "Reconcile", ReportingController: "fairlead.io",
		ReportingInstance: "test",
		Regarding:         corev1.ObjectReference{Namespace: of.GetNamespace(), Name: of.GetName(), UID: of.GetUID()},
	}
	e.Regarding.APIVersion, e.Regarding.Kind = gvk.ToAPIVersionAndKind()
	Expect(k8s.Create(ctx, e)).To(Succeed())
}

var _ = Describe("events", onCluster(func() {
	component := schema.GroupVersionKind{Group: "fairlead.io", Version: "v1alpha1", Kind: "Component"}
	podKind := corev1.SchemeGroupVersion.WithKind("Pod")

	It("shows the events of the component in order, and with --dependents those of its dependents", func(ctx SpecContext) {
		namespace, node := newNamespace(ctx), newKubelet(ctx)
		none := fairlead(ctx, namespace, "events", "shop")
		Expect(none.Code).To(Equal(1))
		web := workload(ctx, namespace, "web")
		ours, other := podOf(ctx, node, namespace, "web-a", web), podOf(ctx, node, namespace, "lonely", nil)
		holding(ctx, namespace, "apps/v1/Deployment/"+namespace+"/web")
		Expect(fairlead(ctx, namespace, "events", "shop")).
			To(Equal(result{Err: "There are no Events of component.fairlead.io/shop.\n"}))
		c := shopIn(ctx, namespace)
		tell(ctx, namespace, "Warning", "GenerateFailed", "line 1\nline 2", c, component)
		tell(ctx, namespace, "Warning", "BackOff", "it crashes", ours, podKind)
		tell(ctx, namespace, "Normal", "Pulled", "it is there", other, podKind)
		tell(ctx, namespace, "Normal", "Ready", "all is well", c, component)

		r := fairlead(ctx, namespace, "events", "shop")
		Expect(r.Out).
			To(MatchRegexp(`^SEEN +TYPE +REASON +OBJECT +MESSAGE\n\d+s +Warning +GenerateFailed +Component.fairlead.io ` +
				namespace +
				`/shop +line 1 line 2\n\d+s +Normal +Ready +.*all is well\n$`))
		r = fairlead(ctx, namespace, "events", "shop", "--dependents", "--types=warning", "-o=json")
		var events show.Events
		Expect(json.Unmarshal([]byte(r.Out), &events)).To(Succeed())
		Expect(events.Items).To(HaveExactElements(HaveField("Reason", "GenerateFailed"), And(
			HaveField("Reason", "BackOff"), HaveField("Object.Name", "web-a"), HaveField("Reporter", "fairlead.io"))))
		Expect(fairlead(ctx, namespace, "events", "shop", "--types=Error")).
			To(And(HaveField("Code", 2), HaveField("Err", ContainSubstring("Normal, Warning"))))
		Expect(fairlead(ctx, namespace, "events", "namespace/default")).
			To(And(HaveField("Code", 1), HaveField("Err", ContainSubstring("is not a type of components"))))
	})

	It("continues with new events, and prints each event once", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		holding(ctx, namespace)
		c := shopIn(ctx, namespace)
		tell(ctx, namespace, "Normal", "First", "one", c, component)
		p := start(ctx, namespace, "events", "shop", "-w")
		Eventually(ctx, p.out).Should(gbytes.Say("First"))
		tell(ctx, namespace, "Normal", "Second", "two", c, component)
		Eventually(ctx, p.out).Should(gbytes.Say("Second +Component.fairlead.io " + namespace + "/shop +two\n"))
		Expect(string(p.out.Contents())).To(MatchRegexp("^[^F]*First[^F]*$"), "the event was not printed exactly once")
		p.stop()
		Eventually(ctx, p.code).Should(Receive(Equal(0)))
	})
}))
