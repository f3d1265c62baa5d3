package main

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// exporting is a manifest that exports its values.
const exporting = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: db
  annotations:
    fairlead.io/export: "dbHost=self.data.host, dbPort=int(self.data.port), db={'tls': true, 'names': [self.data.host]}"
data: {host: '{{ .Values.host }}', port: '{{ .Values.port }}'}
`

// reading is a manifest that shows the types of values.
const reading = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data:
  level: '{{ .Values.database.host }}'
  types: '{{ kindOf .Values.database.port }} {{ .Values.database.port }} {{ .Values.db.tls }} {{ kindOf .Values.db.tls }} {{ .Values.db.names }}'
`

func exportOf(name, export, path string) metav1alpha1.ValuesReference {
	return metav1alpha1.ValuesReference{Kind: metav1alpha1.ComponentReference, Name: name, Export: export, Path: path}
}

func rawValues(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }

var _ = Describe("Values from other components", func() {
	var namespace string
	BeforeEach(func(ctx SpecContext) { namespace = newNamespace(ctx) })
	never := &metav1.Duration{}
	database := func(ctx context.Context, host, port string) *v1alpha1.Component {
		return createComponent(ctx, namespace, "db", v1alpha1.ComponentSpec{
			Source: inline("db.yaml", exporting), Values: rawValues(`{"host":"` + host + `","port":"` + port + `"}`),
			ExportsSpec: metav1alpha1.ExportsSpec{ExportNames: []string{"dbHost", "dbPort", "db"}},
			ResyncSpec:  metav1alpha1.ResyncSpec{Interval: never},
		})
	}
	spec := func(from ...metav1alpha1.ValuesReference) v1alpha1.ComponentSpec {
		return v1alpha1.ComponentSpec{
			Source: inline("a.yaml", settings), ValuesFrom: from, ResyncSpec: metav1alpha1.ResyncSpec{Interval: never},
			RetrySpec: metav1alpha1.RetrySpec{RetryDuration: &metav1.Duration{Duration: time.Hour}},
		}
	}
	current := func(ctx context.Context, component *v1alpha1.Component) metav1alpha1.Status {
		GinkgoHelper()
		Expect(administrator.Get(ctx, client.ObjectKeyFromObject(component), component)).To(Succeed())
		return component.Status
	}
	writesOfSettings := func(ctx context.Context) int {
		GinkgoHelper()
		events, err := cluster.AuditEvents(ctx)
		Expect(err).NotTo(HaveOccurred())
		count := 0
		for _, e := range events.User(operatorUser).Writes().Resource("configmaps") {
			if e.Namespace == namespace && e.Name == "settings" {
				count++
			}
		}
		return count
	}

	It("arrive with their types, a new value is one revision and one write, and values that vanish "+
		"change nothing", func(ctx SpecContext) {
		web := spec(exportOf("db", "dbHost", "database.host"), exportOf("db", "dbPort", "database.port"),
			exportOf("db", "db", ""))
		web.Source = inline("a.yaml", reading)
		component := createComponent(ctx, namespace, "web", web)
		Eventually(status(ctx, component)).WithTimeout(soon).
			Should(HavePrefix("Progressing ExportMissing: it waits for export dbHost of Component " +
				namespace + "/db: the component does not exist; export dbPort of"))
		db := database(ctx, "one", "5432")
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		rendered := &corev1.ConfigMap{}
		Expect(administrator.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "settings"}, rendered)).To(Succeed())
		Expect(rendered.Data).To(Equal(map[string]string{"level": "one", "types": "int64 5432 true bool [one]"}))
		Eventually(func() int { return writesOfSettings(ctx) }).WithTimeout(soon).Should(Equal(1))

		change(ctx, db, func(s *v1alpha1.ComponentSpec) { s.Values = rawValues(`{"host":"two","port":"5432"}`) })
		Eventually(level(ctx, namespace)).WithTimeout(soon).Should(Equal("two"))
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Eventually(func() metav1alpha1.RevisionRecord { return current(ctx, component).History[0] }).WithTimeout(soon).
			Should(And(HaveField("Revision", int64(2)),
				HaveField("Changes", ConsistOf("Component db: db.names[0]: one → two", "Component db: dbHost: one → two"))))
		Eventually(func() int { return writesOfSettings(ctx) }).WithTimeout(soon).Should(Equal(2),
			"one write for a new value")

		By("dropping the source")
		Expect(administrator.Delete(ctx, db)).To(Succeed())
		Eventually(status(ctx, component)).WithTimeout(soon).
			Should(And(HavePrefix("Progressing ExportMissing: it waits for export dbHost of Component "+
				namespace+"/db: the component does not exist"), HaveSuffix("; the applied objects stay as they are")))
		Expect(level(ctx, namespace)()).To(Equal("two"))
		database(ctx, "two", "5432")
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Expect(current(ctx, component).Revision).To(Equal(int64(2)), "the values are the same")
		Eventually(func() int { return writesOfSettings(ctx) }).WithTimeout(soon).Should(Equal(2))
	}, SpecTimeout(time.Minute))

	It("are not affected by other exports, and can be optional", func(ctx SpecContext) {
		optional := exportOf("later", "level", "")
		optional.Optional = true
		web := spec(exportOf("db", "dbHost", "level"), optional)
		component := createComponent(ctx, namespace, "web", web)
		db := database(ctx, "one", "1")
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		change(ctx, db, func(s *v1alpha1.ComponentSpec) { s.Values = rawValues(`{"host":"one","port":"2"}`) })
		Eventually(func() string { return string(current(ctx, db).Exports["dbPort"].Raw) }).WithTimeout(soon).
			Should(Equal("2"))
		createComponent(ctx, namespace, "later", v1alpha1.ComponentSpec{
			Source: inline("a.yaml",
				"{apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: {fairlead.io/export: 'level=self.data.b'}}, "+
					"data: {b: late}}"),
			ExportsSpec: metav1alpha1.ExportsSpec{ExportNames: []string{"level"}},
			ResyncSpec:  metav1alpha1.ResyncSpec{Interval: never},
		})
		Eventually(level(ctx, namespace)).WithTimeout(soon).Should(Equal("late"))
		Eventually(func() int64 { return current(ctx, component).Revision }).WithTimeout(soon).
			Should(Equal(int64(2)), "dbPort is not an input, and level is")

		By("reading another export of the same version of the component")
		change(ctx, component, func(s *v1alpha1.ComponentSpec) {
			s.ValuesFrom = []metav1alpha1.ValuesReference{exportOf("db", "nothing", "level")}
		})
		Eventually(status(ctx, component)).WithTimeout(soon).
			Should(HavePrefix("Progressing ExportMissing: it waits for export nothing of Component " +
				namespace + "/db: the component has published no value yet; it has published db, dbHost, dbPort"))
		change(ctx, component, func(s *v1alpha1.ComponentSpec) {
			s.ValuesFrom = []metav1alpha1.ValuesReference{exportOf("db", "dbPort", "level")}
		})
		Eventually(level(ctx, namespace)).WithTimeout(soon).Should(Equal("2"))
	}, SpecTimeout(time.Minute))

	It("are read as the identity of the component alone", func(ctx SpecContext) {
		database(ctx, "one", "1")
		web := spec(exportOf("db", "dbHost", "level"))
		web.ServiceAccount, web.RetryDuration = "web", &metav1.Duration{Duration: time.Second}
		component := createComponent(ctx, namespace, "web", web)
		user := "system:serviceaccount:" + namespace + ":web"
		Eventually(status(ctx, component)).WithTimeout(soon).Should(And(
			HavePrefix("Stalled Forbidden: read the exports of Component "+namespace+"/db: "),
			ContainSubstring(`User "`+user+`" cannot get resource "components"`), HaveSuffix("grant it to that user")))
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}, Rules: []rbacv1.PolicyRule{
			{
				APIGroups: []string{"fairlead.io"}, Resources: []string{"components"}, ResourceNames: []string{"db"},
				Verbs: []string{"get"},
			},
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "patch", "delete"}},
		}}
		Expect(administrator.Create(ctx, role)).To(Succeed())
		Expect(administrator.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "web"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "web"}},
		})).To(Succeed())
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Expect(level(ctx, namespace)()).To(Equal("one"))

		By("closing a cycle through a component that this identity may not read")
		createComponent(ctx, namespace, "hidden", spec(exportOf("web", "level", "level")))
		db := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "db"}}
		change(ctx, db, func(s *v1alpha1.ComponentSpec) {
			s.ValuesFrom = []metav1alpha1.ValuesReference{exportOf("hidden", "x", "")}
		})
		Eventually(status(ctx, component)).WithTimeout(soon).Should(And(HavePrefix("Stalled ReferenceCycle: "),
			ContainSubstring("web reads db reads (a component that the identity of web cannot read) reads web"),
			Not(ContainSubstring("hidden"))))
	}, SpecTimeout(time.Minute))

	It("stall all components of a cycle, with the whole cycle, until it is open", func(ctx SpecContext) {
		manifest := strings.NewReplacer("settings", "NAME", "metadata: {",
			"metadata: {annotations: {fairlead.io/export: 'NAME=self.data.level'}, ").Replace(settings)
		member := func(name, reads string) *v1alpha1.Component {
			from := exportOf(reads, reads, "level")
			from.Optional = true
			s := spec(from)
			s.Source, s.ExportNames = inline("a.yaml", strings.ReplaceAll(manifest, "NAME", name)), []string{name}
			s.Source.Inline.Files["a.yaml"] = strings.Replace(s.Source.Inline.Files["a.yaml"], ".Values.level }}",
				`get .Values "level" }}x`, 1)
			return createComponent(ctx, namespace, name, s)
		}
		a, b := member("a", "b"), member("b", "c")
		tail := member("tail", "a")
		Eventually(status(ctx, tail)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		c := member("c", "a")
		const advice = "; remove one of these references"
		const prefix = "Stalled ReferenceCycle: the component reads an export that depends on its own exports: "
		Eventually(status(ctx, a)).WithTimeout(soon).Should(Equal(prefix + "a reads b reads c reads a" + advice))
		Eventually(status(ctx, b)).WithTimeout(soon).Should(Equal(prefix + "b reads c reads a reads b" + advice))
		Eventually(status(ctx, c)).WithTimeout(soon).Should(Equal(prefix + "c reads a reads b reads c" + advice))
		Expect(status(ctx, tail)()).To(HavePrefix("Ready Ready: "), "it is not on the cycle")
		self := member("self", "self")
		Eventually(status(ctx, self)).WithTimeout(soon).Should(Equal(prefix + "self reads self" + advice))

		change(ctx, c, func(s *v1alpha1.ComponentSpec) { s.ValuesFrom, s.Values = nil, rawValues(`{"level":"end"}`) })
		for _, component := range []*v1alpha1.Component{a, b, c, tail} {
			Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		}
		Eventually(func() string { return string(current(ctx, tail).Exports["tail"].Raw) }).WithTimeout(soon).
			Should(Equal(`"endxxxx"`))
	}, SpecTimeout(time.Minute))

	It("need an export, and no settings of other kinds", func(ctx SpecContext) {
		refused := func(from metav1alpha1.ValuesReference) error {
			return administrator.Create(ctx, &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace,
				Name:      "web",
			}, Spec: spec(from)})
		}
		Expect(refused(exportOf("db", "", ""))).
			To(MatchError(ContainSubstring("set either kind: Component and export, or neither")))
		Expect(refused(exportOf("db", "x", "a..b"))).To(MatchError(ContainSubstring("path")))
		wrong := exportOf("db", "x", "")
		wrong.ValuesKey = "values.yaml"
		Expect(refused(wrong)).To(MatchError(ContainSubstring("valuesKey is a key of a Secret or ConfigMap")))
		wrong = exportOf("db", "x", "")
		wrong.Kind = metav1alpha1.ConfigMapReference
		Expect(refused(wrong)).To(MatchError(ContainSubstring("set either kind: Component and export, or neither")))
		function := v1alpha1.ComponentSpec{Generator: "Function", Function: &v1alpha1.FunctionGenerator{
			URL: "https://example.com", Items: []v1alpha1.FunctionItem{{Kind: metav1alpha1.ComponentReference, Name: "db"}},
		}}
		Expect(administrator.Create(ctx, &v1alpha1.Component{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
			Spec:       function,
		})).
			To(MatchError(ContainSubstring("spec.function.items[0].kind")))
	}, SpecTimeout(time.Minute))
})
