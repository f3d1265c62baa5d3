package conformance_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// withoutRecords fails all requests that create the Secret of a pinned rendering.
type withoutRecords struct{ next http.RoundTripper }

func (w withoutRecords) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodPatch || !strings.Contains(request.URL.Path, "/secrets/rendered-") {
		return w.next.RoundTrip(request)
	}
	return &http.Response{
		StatusCode: http.StatusInternalServerError, Header: http.Header{"Content-Type": {"text/plain"}},
		Body: io.NopCloser(strings.NewReader("no room for records")), Request: request,
	}, nil
}

var _ = Describe("Pinned renderings that cannot be recorded:", func() {
	const password = `{apiVersion: v1, kind: Secret, metadata: {name: login}, data: {password: {{ randAlphaNum 16 | b64enc }}}}`
	const region = "\n---\n" +
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {region: {{ (lookup "v1" "ConfigMap" .Release.Namespace "zone").data.name }}}}`
	var namespace, operator string
	refusing := operatorOptions{
		generate: &chart{}, transport: func(next http.RoundTripper) http.RoundTripper { return withoutRecords{next} },
	}
	BeforeEach(func(ctx SpecContext) { namespace, operator = newNamespace(ctx), newOperatorName() })

	It("a rendering with generated values is not applied while the Secret for the pinned rendering "+
		"cannot be written", func(ctx SpecContext) {
		stop := runOperator(operator, refusing)
		g := newGadget(ctx, namespace, "app", password, servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "False Retrying: record the rendered manifests")
		_, err := get(ctx, "v1", "Secret", namespace, "login")
		Expect(err).To(MatchError(ContainSubstring("not found")))
		Expect(current(ctx, g).Status.Revision).To(BeZero())

		stop()
		runOperator(operator, operatorOptions{generate: &chart{}})
		expectReady(ctx, g)
		Expect(keptSets(ctx, namespace)).To(HaveLen(1))
		expectCondition(ctx, g, metav1alpha1.ConditionNonDeterministic, "True ValuesKept")
	})

	It("while the Secret for a new pinned rendering cannot be written, the previous rendering stays applied, also after "+
		"a restart; the new rendering is applied when the Secret can be written", func(ctx SpecContext) {
		zone := create(ctx, "{apiVersion: v1, kind: ConfigMap, metadata: {name: zone, namespace: "+namespace+
			"}, data: {name: east}}")[0]
		stop := runOperator(operator, operatorOptions{generate: &chart{}})
		g := newGadget(ctx, namespace, "app", password+region, servedBy(operator))
		expectReady(ctx, g)
		made := content(ctx, "Secret", namespace, "login")

		stop()
		stop = runOperator(operator, refusing)
		patch(ctx, zone, `{"data":{"name":"west"}}`)
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "False Retrying: record the rendered manifests")
		Expect(content(ctx, "ConfigMap", namespace, "settings")).To(HaveKeyWithValue("region", "east"))

		stop()
		runOperator(operator, operatorOptions{generate: &chart{}})
		expectReady(ctx, g)
		Expect(content(ctx, "ConfigMap", namespace, "settings")).To(HaveKeyWithValue("region", "west"))
		Expect(content(ctx, "Secret", namespace, "login")).To(Equal(made))
		Expect(keptSets(ctx, namespace)).To(HaveLen(1))
	})
})

var _ = Describe("Lost Secrets with pinned renderings:", func() {
	const password = `{apiVersion: v1, kind: Secret, metadata: {name: login}, data: {password: {{ randAlphaNum 16 | b64enc }}}}`
	const settings = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {region: east}}`
	var namespace, operator string
	BeforeEach(func(ctx SpecContext) { namespace, operator = newNamespace(ctx), newOperatorName() })

	It("if the Secret with a pinned rendering is lost while the operator runs, it is written again with "+
		"the same values", func(ctx SpecContext) {
		stop := runOperator(operator, operatorOptions{generate: &chart{}})
		g := newGadget(ctx, namespace, "app", password+"\n---\n"+settings, servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		made, record := content(ctx, "Secret", namespace, "login"), keptSets(ctx, namespace)[0]
		letGo(ctx, &record)
		remove(ctx, &record)
		Eventually(ctx, func() []string { return namesOf(keptSets(ctx, namespace)) }).Should(Equal([]string{record.Name}))
		settle(ctx, operator)
		stop()

		remove(ctx, mustGet(ctx, "v1", "Secret", namespace, "login"))
		runOperator(operator, operatorOptions{generate: &chart{}})
		Eventually(ctx, func() error {
			return k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "login"}, &corev1.Secret{})
		}).Should(Succeed())
		expectReady(ctx, g)
		Expect(content(ctx, "Secret", namespace, "login")).To(Equal(made))
		Expect(notesOf(ctx, namespace, "RenderedSetLost")).To(BeEmpty())
	})

	It("after the Secret with a pinned rendering is lost, the dependents stay applied, an event reports the loss, and "+
		"deleted dependents get new generated values", func(ctx SpecContext) {
		stop := runOperator(operator, operatorOptions{generate: &chart{}})
		g := newGadget(ctx, namespace, "app", password+"\n---\n"+settings, servedBy(operator))
		expectReady(ctx, g)
		made, record := content(ctx, "Secret", namespace, "login"), keptSets(ctx, namespace)[0]
		stop()
		letGo(ctx, &record)
		remove(ctx, &record)

		runOperator(operator, operatorOptions{generate: &chart{}})
		Eventually(ctx, func() []string { return notesOf(ctx, namespace, "RenderedSetLost") }).Should(ContainElement(
			And(HavePrefix("the dependents are rendered again; existing objects keep their values"),
				ContainSubstring(record.Name))))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(content(ctx, "Secret", namespace, "login")).To(Equal(made))
		remove(ctx, mustGet(ctx, "v1", "Secret", namespace, "login"))
		Eventually(ctx, func() bool {
			login, err := get(ctx, "v1", "Secret", namespace, "login")
			return err == nil && login.GetDeletionTimestamp() == nil
		}).Should(BeTrue())
		Expect(content(ctx, "Secret", namespace, "login")).NotTo(Equal(made),
			"a new value must be generated, because the old value is lost")
	})
})

var _ = Describe("Generated values after the loss of the Secret with the pinned rendering:", func() {
	It("generated values whose pinned rendering was lost are kept through restarts and a changed look-up, until the "+
		"spec changes", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		zone := create(ctx, "{apiVersion: v1, kind: ConfigMap, metadata: {name: zone, namespace: "+namespace+
			"}, data: {name: east}}")[0]
		const text = `{apiVersion: v1, kind: Secret, metadata: {name: login}, data: {password: {{ randAlphaNum 16 | b64enc }}}}` + "\n---\n" +
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {region: {{ (lookup "v1" "ConfigMap" .Release.Namespace "zone").data.name }}}}`
		options := operatorOptions{generate: &chart{}}
		stop := runOperator(operator, options)
		g := newGadget(ctx, namespace, "app", text, servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		made := content(ctx, "Secret", namespace, "login")
		stop()
		lost := keptSets(ctx, namespace)[0]
		letGo(ctx, &lost)
		remove(ctx, &lost)
		patch(ctx, zone, `{"data":{"name":"west"}}`)
		for range 2 {
			before := passes(operator)
			stop = runOperator(operator, options)
			Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", before))
			settle(ctx, operator)
			Expect(content(ctx, "Secret", namespace, "login")).To(Equal(made))
			Expect(keptSets(ctx, namespace)).To(HaveLen(1))
			stop()
		}
		runOperator(operator, options)
		changeManifests(ctx, g, text+"\n---\n"+configMap("more", "a"))
		expectReady(ctx, g)
		Expect(content(ctx, "Secret", namespace, "login")).NotTo(Equal(made))
		Expect(content(ctx, "ConfigMap", namespace, "settings")).To(HaveKeyWithValue("region", "west"))
	})
})

var _ = Describe("Unused records of pinned renderings:", func() {
	const password = `{apiVersion: v1, kind: Secret, metadata: {name: login}, data: {password: {{ randAlphaNum 16 | b64enc }}}}`
	var namespace, operator string
	BeforeEach(func(ctx SpecContext) { namespace, operator = newNamespace(ctx), newOperatorName() })

	// copied creates a copy of a record under another id, as a process that crashed may leave behind.
	copied := func(ctx context.Context, record corev1.Secret) {
		words := strings.Split(record.Name, "-")
		words[len(words)-2] = "0123456789abcdef"
		applied := &unstructured.Unstructured{Object: mustGet(ctx, "v1", "Secret", record.Namespace, record.Name).Object}
		applied.SetName(strings.Join(words, "-"))
		applied.SetUID("")
		applied.SetResourceVersion("")
		applied.SetManagedFields(nil)
		Expect(k8s.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner(operator))).To(Succeed())
	}

	It("an unused Secret with a pinned rendering that a crashed operator left is deleted by the next operator, and the "+
		"Secret in use stays", func(ctx SpecContext) {
		stop := runOperator(operator, operatorOptions{generate: &chart{}})
		g := newGadget(ctx, namespace, "app", password, servedBy(operator))
		expectReady(ctx, g)
		made, counts := content(ctx, "Secret", namespace, "login"), keptSets(ctx, namespace)
		Expect(counts).To(HaveLen(1))
		stop()
		copied(ctx, counts[0])
		Expect(keptSets(ctx, namespace)).To(HaveLen(2))

		runOperator(operator, operatorOptions{generate: &chart{}})
		Eventually(func() []corev1.Secret { return keptSets(ctx, namespace) }).
			Should(ConsistOf(HaveField("Name", counts[0].Name)))
		expectReady(ctx, g)
		Expect(content(ctx, "Secret", namespace, "login")).To(Equal(made))
	})
})

var _ = Describe("Large pinned renderings:", func() {
	It("a large pinned rendering is stored in several Secrets, which a restarted operator reads, and which are deleted "+
		"with the component", func(ctx SpecContext) {
		const large = "{apiVersion: v1, kind: Secret, metadata: {name: %s}, stringData: {password: {{ " +
			"randAlphaNum 400000 }}}}"
		namespace, operator := newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{generate: &chart{}})
		g := newGadget(ctx, namespace, "app", together(fmt.Sprintf(large, "one"), fmt.Sprintf(large, "two")),
			servedBy(operator))
		expectReady(ctx, g)
		Expect(keptSets(ctx, namespace)).To(HaveLen(2))
		made := content(ctx, "Secret", namespace, "two")["password"]

		stop()
		remove(ctx, mustGet(ctx, "v1", "Secret", namespace, "two"))
		runOperator(operator, operatorOptions{generate: &chart{}})
		Eventually(ctx, func() error { _, err := get(ctx, "v1", "Secret", namespace, "two"); return err }).Should(Succeed())
		if content(ctx, "Secret", namespace, "two")["password"] != made {
			Fail("the password changed")
		}
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(keptSets(ctx, namespace)).To(BeEmpty())
	})
})
