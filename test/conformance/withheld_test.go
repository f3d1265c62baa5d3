package conformance_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

var _ = Describe("Refused Secrets:", func() {
	It("if the API server refuses a Secret, the condition names the Secret and does not "+
		"contain its content", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nimmutable: aHVudGVyMg")
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(ContainSubstring("Secret "+namespace+"/login"),
			ContainSubstring("withheld")))
		Expect(fmt.Sprint(current(ctx, g).Status)).NotTo(ContainSubstring("aHVudGVyMg"))
	})

	It("if a policy refuses a Secret and quotes a value that was bound into it, the status names the policy and does not "+
		"have the value", func(ctx SpecContext) {
		const password = "correct-horse-battery"
		namespace := newNamespace(ctx)
		create(ctx, refusingPolicy(namespace, "ours", "'this password is too weak: ' + object.data.login"))
		DeferCleanup(func(ctx SpecContext) {
			for _, kind := range []string{"ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"} {
				remove(ctx, mustGet(ctx, "admissionregistration.k8s.io/v1", kind, "", namespace))
			}
		})
		refused := func() error { return createSecret(ctx, namespace, "ours", password, client.DryRunAll) }
		Eventually(ctx, refused).Should(MatchError(ContainSubstring("this password is too weak")))
		Expect(createSecret(ctx, namespace, "theirs", password)).To(Succeed())

		g := newGadget(ctx, namespace, "app", together(
			"apiVersion: v1\nkind: Secret\nmetadata: {name: theirs, annotations: {"+setting("reconcile-policy", "observe")+", "+
				setting("export", "login=self.stringData.login")+"}}",
			"apiVersion: v1\nkind: Secret\nmetadata: {name: ours, annotations: {"+setting("bind", "true")+"}}\n"+
				"stringData: {login: '${{ login }}'}"))
		status := func() string {
			text, err := json.Marshal(current(ctx, g).Status)
			Expect(err).NotTo(HaveOccurred())
			return string(text)
		}
		Eventually(ctx, status).Should(And(ContainSubstring("ValidatingAdmissionPolicy '"+namespace+"'"),
			ContainSubstring("withheld")))
		encoded := base64.StdEncoding.EncodeToString([]byte(password))
		Expect(status()).NotTo(Or(ContainSubstring("too weak"), ContainSubstring(password), ContainSubstring(encoded)))
	})
})

// createSecret creates a Secret with the key login.
func createSecret(ctx context.Context, namespace, name, login string, options ...client.CreateOption) error {
	return k8s.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{"login": []byte(login)},
	}, options...)
}

// refusingPolicy returns a policy with the name of a namespace that refuses the Secret with the given name in this
// namespace, with a message that is the value of an expression.
func refusingPolicy(namespace, name, message string) string {
	return fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [secrets], operations: [CREATE, UPDATE]}]
  matchConditions: [{name: name, expression: "object.metadata.name == '%[2]s'"}]
  validations: [{expression: "false", reason: Forbidden, messageExpression: "%[3]s"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec:
  policyName: %[1]s
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}}
`, namespace, name, message)
}
