package cli_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

var _ = Describe("Exports of a component", onCluster(func() {
	It("are in the status, and why, plan and rbac of the component that reads them name them", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		const source = "apiVersion: v1\nkind: ConfigMap\n" +
			"metadata: {name: db, annotations: {fairlead.io/export: dbHost=self.data.host}}\ndata: {host: h1}\n"
		const target = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {host: '{{ .Values.database.host }}'}\n"
		applied(ctx, namespace, folder("web.yaml", target), "--set", "database.host=h0")
		change := func(name string, edit func(*v1alpha1.ComponentSpec)) {
			GinkgoHelper()
			Eventually(ctx, func() error {
				c := &v1alpha1.Component{}
				if err := k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, c); err != nil {
					return err
				}
				edit(&c.Spec)
				return k8s.Update(ctx, c)
			}).Should(Succeed())
		}
		change("shop", func(s *v1alpha1.ComponentSpec) {
			s.Values, s.ValuesFrom = nil, []metav1alpha1.ValuesReference{
				{Kind: metav1alpha1.ComponentReference, Name: "db", Export: "dbHost", Path: "database.host"},
			}
		})
		const waits = "it waits for export dbHost of Component "
		Eventually(ctx, func() string { return fairlead(ctx, namespace, "why", "cm/web").Out }).Should(
			MatchRegexp(`held up +no update: ` + waits + namespace + `/db: the component does not exist`))
		Expect(fairlead(ctx, namespace, "plan", "shop").Err).To(ContainSubstring(waits + namespace + "/db"))

		Expect(fairlead(ctx, namespace, "apply", "db", folder("db.yaml", source)).Code).To(Equal(0))
		change("db", func(s *v1alpha1.ComponentSpec) { s.ExportNames = []string{"dbHost"} })
		Eventually(ctx, func() string { return fairlead(ctx, namespace, "status", "db").Out }).Should(
			MatchRegexp(`EXPORT +VALUE\ndbHost +h1\n`))
		Eventually(ctx, func() string {
			return fairlead(ctx, namespace, "why", "cm/web", "--field", "data.host").
				Out
		}).Should(
			ContainSubstring("spec.valuesFrom[0], Component db, export dbHost"))
		Expect(fairlead(ctx, namespace, "rbac", "shop").Out).To(ContainSubstring("- components\n"))
	})
}))
