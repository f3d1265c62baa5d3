package cli_test

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/dependentcauses"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

var _ = Describe("the causes of a dependent that is not ready", onCluster(func() {
	It("are shown by status, by tree, by why, and by apply --wait after the timeout", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		dir := folder("job.yaml", `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec: {template: {spec: {restartPolicy: Never, serviceAccountName: absent, containers: [{name: main, image: i}]}}}
`)
		Expect(fairlead(ctx, namespace, "apply", "shop", dir).Code).To(Equal(0))
		job := &batchv1.Job{}
		Eventually(ctx, func() error {
			return k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "migrate"}, job)
		}).Should(Succeed())
		// This cluster has no controllers, so the spec creates the event of the Job controller.
		const message = `Error creating: serviceaccount "absent" not found`
		Expect(k8s.Create(ctx, &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "migrate.1"},
			InvolvedObject: corev1.ObjectReference{
				APIVersion: "batch/v1", Kind: "Job", Namespace: namespace, Name: "migrate", UID: job.UID,
			},
			Type: corev1.EventTypeWarning, Reason: "FailedCreate", Message: message, LastTimestamp: metav1.Now(),
		})).To(Succeed())

		name := "Job.batch " + namespace + "/migrate"
		Eventually(ctx, func() string { return fairlead(ctx, namespace, "status", "shop").Out }).Should(MatchRegexp(
			`(?m)^NOT READY +CAUSED BY +REASON +MESSAGE\n%[1]s +%[1]s +FailedCreate +%[2]s$`, name, message))
		var status show.Status
		r := fairlead(ctx, namespace, "status", "shop", "-o", "json")
		Expect(json.Unmarshal([]byte(r.Out), &status)).To(Succeed())
		Expect(status.Waiting).To(ConsistOf(HaveField("Causes",
			Equal([]dependentcauses.Cause{{Object: name, Reason: "FailedCreate", Message: message}}))))
		Expect(fairlead(ctx, namespace, "tree", "shop").Out).To(MatchRegexp(
			`(?m)^NOT READY +CAUSED BY +REASON +MESSAGE\n%[1]s +%[1]s +FailedCreate +%[2]s$`, name, message))
		Eventually(ctx, func() string { return fairlead(ctx, namespace, "why", "job/migrate").Out }).
			Should(MatchRegexp(`(?m)^not ready +%s: FailedCreate: %s$`, name, message))
		Expect(fairlead(ctx, namespace, "why", "job/migrate", "--field", "spec").Out).NotTo(ContainSubstring("FailedCreate"))
		r = fairlead(ctx, namespace, "apply", "shop", dir, "--wait", "--timeout", "1s")
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(MatchRegexp(`timed out after 1s for .*FailedCreate: %s\)?\n$`, message))

		allow(ctx, namespace, "watcher", "fairlead-components-viewer")
		Eventually(ctx, func() result { return fairlead(ctx, namespace, "status", "shop", "--as=watcher") }).Should(And(
			HaveField("Code", 1), HaveField("Err", BeEmpty()),
			HaveField("Out", And(ContainSubstring("InProgress"), Not(ContainSubstring("FailedCreate"))))),
			"objects that a person may not read are left out without an error")
	})

	It("include a refused update: what is there is ready, but not updated", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		service := func(port string) string {
			return folder("web.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: "+
				port+"}]}\n")
		}
		applied(ctx, namespace, service("80"))
		Expect(fairlead(ctx, namespace, "tree", "shop").Out).To(MatchRegexp(`(?m)^0 +Service +%s/web +Ready$`, namespace))
		r := fairlead(ctx, namespace, "apply", "shop", service("100000"), "--skip-plan", "--wait", "--timeout", "10s")
		Expect(r.Code).To(Equal(1))
		Expect(fairlead(ctx, namespace, "tree", "shop").Out).To(MatchRegexp(
			`(?m)^0 +Service +%s/web +NotUpdated +Ready, but not updated: Invalid: .*100000`, namespace))
		Expect(fairlead(ctx, namespace, "why", "svc/web").Out).To(MatchRegexp(`(?m)^not updated +Invalid: .*100000`))
	})
}))
