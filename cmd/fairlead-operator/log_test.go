package main

import (
	"encoding/base64"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

var _ = Describe("The log", func() {
	It("never has contents of Secrets, at any level", func(ctx SpecContext) {
		expectWork(ctx)
		Expect(stopOperator()).To(Succeed())
		log := gbytes.NewBuffer()
		stopOperator = startOperatorWithLog(log, "--zap-log-level=10")
		DeferCleanup(func(ctx SpecContext) {
			Expect(stopOperator()).To(Succeed())
			stopOperator = startOperator()
			expectWork(ctx)
		})
		const marker = "hunter2-in-the-log"
		namespace := newNamespace(ctx)
		Expect(administrator.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "given"},
			Data:       map[string][]byte{"values.yaml": []byte("password: " + marker)},
		})).To(Succeed())
		component := createComponent(ctx, namespace, "shop", v1alpha1.ComponentSpec{
			Source: inline("login.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\n"+
				"stringData: {password: {{ .Values.password }}}\n"),
			ValuesFrom: []metav1alpha1.ValuesReference{{Kind: metav1alpha1.SecretReference, Name: "given"}},
		})
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		secret := func(name, annotations, rest string) string {
			return "---\napiVersion: v1\nkind: Secret\nmetadata: {name: " + name + ", annotations: {" + annotations +
				"}}\n" + rest
		}
		exporting := createComponent(ctx, namespace, "flow", v1alpha1.ComponentSpec{Source: inline("secrets.yaml",
			secret("given", `fairlead.io/reconcile-policy: observe, fairlead.io/export: 'given=self.stringData["values.yaml"]'`,
				"")+
				secret("copy", "fairlead.io/bind: 'true'", `stringData: {given: '{{ "${{ given }}" }}'}`+"\n")+
				secret("failing", "fairlead.io/bind: 'true'", `stringData: {given: '{{ "${{ string(int(given)) }}" }}'}`+"\n"),
		)})
		Eventually(status(ctx, exporting)).WithTimeout(soon).Should(ContainSubstring("its expression failed"))
		copied := &corev1.Secret{}
		Eventually(func() error {
			return administrator.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "copy"}, copied)
		}).WithTimeout(soon).Should(Succeed())
		Expect(string(copied.Data["given"])).To(Equal("password: " + marker))
		Eventually(log.Contents).WithTimeout(soon).Should(ContainSubstring(`"msg":"reconciled"`))
		for _, text := range []string{
			marker, base64.StdEncoding.EncodeToString([]byte("password: " + marker)),
			base64.StdEncoding.EncodeToString([]byte(marker)),
		} {
			Expect(string(log.Contents())).NotTo(ContainSubstring(text))
		}
	}, SpecTimeout(2*time.Minute))
})
