package cli_test

import (
	"encoding/base64"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var _ = Describe("exported values of Secrets", onCluster(func() {
	It("are shown by no command, before and after they are bound, and if their hole fails", func(ctx SpecContext) {
		const password = "hunter2-of-somebody-else"
		namespace := newNamespace(ctx)
		operate(namespace)
		Expect(k8s.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "theirs"},
			StringData: map[string]string{"password": password},
		})).To(Succeed())
		binding := func(hole string) string {
			return folder(
				"theirs.yaml",
				"apiVersion: v1\nkind: Secret\nmetadata: {name: theirs, annotations: {fairlead.io/reconcile-policy: observe, "+
					"fairlead.io/export: password=self.stringData.password}}\n",
				"ours.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: ours, annotations: {fairlead.io/bind: 'true'}}\n"+
					"stringData: {url: '{{ \""+hole+"\" }}'}\n",
			)
		}
		var shown []string
		show := func(args ...string) string {
			GinkgoHelper()
			r := fairlead(ctx, namespace, args...)
			shown = append(shown, r.Out, r.Err)
			return r.Out
		}
		showAll := func() {
			GinkgoHelper()
			for _, command := range []string{"status", "tree", "plan", "diff", "history"} {
				show(command, "shop")
				show(command, "shop", "-o", "yaml")
			}
			show("why", "secret/ours")
			show("why", "secret/ours", "-o", "yaml")
			show("why", "secret/ours", "--field", "data.url")
			show("why", "secret/theirs", "--field", "data.password")
		}

		first, second := binding("x:${{ password }}"), binding("y:${{ password }}")
		Expect(show("plan", "shop", first)).To(MatchRegexp(`Secret +` + namespace + `/ours`))
		Expect(show("plan", "shop", first, "-o", "yaml")).To(ContainSubstring("ours"))
		Expect(show("diff", "shop", first)).To(ContainSubstring("ours"))
		applied(ctx, namespace, first)
		showAll()
		Expect(show("plan", "shop", second)).To(MatchRegexp(`Secret +` + namespace + `/ours`))
		Expect(show("plan", "shop", second, "-o", "yaml")).To(ContainSubstring("ours"))
		Expect(show("diff", "shop", second)).To(ContainSubstring("ours"))

		failing := binding("${{ string(int(password)) }}")
		show("plan", "shop", failing)
		show("diff", "shop", failing)
		Expect(fairlead(ctx, namespace, "apply", "shop", failing).Code).To(Equal(0))
		Eventually(ctx, func() string { return show("status", "shop") }).Should(ContainSubstring("its expression failed"))
		showAll()
		Expect(show("why", "secret/ours")).To(ContainSubstring("its expression failed"))

		encoded := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
		Expect(shown).NotTo(ContainElement(Or(ContainSubstring(password), ContainSubstring(encoded(password)),
			ContainSubstring(encoded("x:"+password)), ContainSubstring(encoded("y:"+password)))))
	})
}))
