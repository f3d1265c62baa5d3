package main

import (
	"encoding/base64"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		Eventually(log.Contents).WithTimeout(soon).Should(ContainSubstring(`"msg":"reconciled"`))
		for _, text := range []string{
			marker, base64.StdEncoding.EncodeToString([]byte("password: " + marker)),
			base64.StdEncoding.EncodeToString([]byte(marker)),
		} {
			Expect(string(log.Contents())).NotTo(ContainSubstring(text))
		}
	}, SpecTimeout(2*time.Minute))
})
