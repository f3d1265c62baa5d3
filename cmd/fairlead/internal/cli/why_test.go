package cli_test

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// times matches the times of managed fields.
var times = regexp.MustCompile(`at \d{4}-\d\d-\d\dT[0-9:]+Z`)

var _ = Describe("why", onCluster(func() {
	It("shows the component, wave, file and values of an object, and the managers of a field", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		applied(ctx, namespace, folder(shopTemplates()...), "--set", "color=blue")
		why := func(file string, args ...string) {
			GinkgoHelper()
			r := fairlead(ctx, namespace, append([]string{"why"}, args...)...)
			Expect(r.Err).To(BeEmpty())
			Expect(r.Code).To(Equal(0))
			expectGolden("why/"+file, namespace, times.ReplaceAllString(r.Out, "at TIME"))
		}
		why("map.txt", "cm/settings", "--field", "data")
		settings := &corev1.ConfigMap{}
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "settings"}, settings)).To(Succeed())
		Expect(k8s.Patch(ctx, settings, client.RawPatch(types.MergePatchType, []byte(`{"data": {"theirs": "too"}}`)),
			client.FieldOwner("person"))).To(Succeed())

		why("object.txt", "configmap/settings")
		why("field.txt", "configmap/settings", "--field", "data.color")
		why("constant.txt", "cm/settings", "--field", "data.size")
		why("theirs.txt", "cm/settings", "--field", "data.theirs")
		why("secret.txt", "secret/login", "--field", "data.password")
		why("existence.txt", "cm/extra")
		why("wave.yaml", "sa/shop", "-o", "yaml")

		By("without an operator")
		leaseIn(ctx, time.Now().Add(-3*time.Minute))
		Expect(fairlead(ctx, namespace, "why", "sa/shop").Out).To(
			MatchRegexp("unknown +whether the status of the component is current: no operator has held the Lease"))
	})

	It("names the dependency that holds up an object, which does not exist yet", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		const late = "apiVersion: v1\nkind: ConfigMap\n" +
			"metadata: {name: late, annotations: {fairlead.io/depends-on: Deployment.apps web}}\n"
		const web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n" +
			"  selector: {matchLabels: {app: web}}\n" +
			"  template:\n    metadata: {labels: {app: web}}\n    spec: {nodeSelector: {zone: nowhere}, containers: [{name: " +
			"web, image: web}]}\n"
		Expect(fairlead(ctx, namespace, "apply", "shop", folder("late.yaml", late, "web.yaml", web)).Code).To(Equal(0))
		Eventually(ctx, func() string { return fairlead(ctx, namespace, "why", "cm/late").Out }).Should(
			MatchRegexp(`held up +not created yet: waits for Deployment.apps ` + namespace + `/web: `))
		Expect(fairlead(ctx, namespace, "why", "cm/other").Err).To(And(ContainSubstring("does not exist"),
			Not(ContainSubstring("ten"))))

		By("more objects than the status of a component lists")
		var more []string
		for i := range 12 {
			name := fmt.Sprintf("late-%02d", i)
			text := strings.NewReplacer("name: late,", "name: "+name+",", "Deployment.apps web", "Deployment.apps many").
				Replace(late)
			more = append(more, name+".yaml", text)
		}
		more = append(more, "many.yaml", strings.Replace(web, "metadata: {name: web}\nspec",
			"metadata: {name: many}\nspec", 1))
		Expect(fairlead(ctx, namespace, "apply", "many", folder(more...)).Code).To(Equal(0))
		Eventually(ctx, func() string { return fairlead(ctx, namespace, "why", "cm/late-11").Err }).Should(And(
			ContainSubstring("does not exist"), ContainSubstring("at most ten of the objects"),
			HaveSuffix("run: fairlead plan -n "+namespace+" many\n")))
	})

	It("names the exported value that holds up an object, and the value that was bound last", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		objects := func(data string) string {
			return folder(
				"db.yaml",
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: db, annotations: {fairlead.io/export: "+
					"dbHost=self.data.host}}\ndata: "+data+"\n",
				"web.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, annotations: {fairlead.io/bind: 'true'}}\n"+
					"data: {url: 'postgres://{{ \"${{ dbHost }}\" }}', color: blue}\n",
				"login.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: login, annotations: {fairlead.io/bind: 'true'}}\n"+
					"stringData: {url: '{{ \"${{ dbHost }}\" }}'}\n",
			)
		}
		why := func(args ...string) func() string {
			return func() string { return fairlead(ctx, namespace, append([]string{"why"}, args...)...).Out }
		}
		missing := "it waits for export dbHost of ConfigMap " + namespace + "/db: the object has no self.data.host yet"
		Expect(fairlead(ctx, namespace, "apply", "shop", objects("{}")).Code).To(Equal(0))
		Eventually(ctx, why("cm/web")).Should(MatchRegexp(`held up +not created yet: ` + missing))
		Expect(fairlead(ctx, namespace, "tree", "shop").Out).To(MatchRegexp(`web +Missing +ExportMissing: ` + missing))

		applied(ctx, namespace, objects("{host: h1}"))
		Expect(why("cm/web")()).To(And(MatchRegexp(`bound +data.url = postgres://h1, by postgres://\$\{\{ dbHost }}\n`),
			Not(ContainSubstring("held up"))))
		Expect(why("cm/web", "--field", "data.url")()).
			To(MatchRegexp(`manifest +it binds exported values: postgres://\$\{\{ dbHost }}\n`))
		Expect(why("cm/web", "--field", "data.color")()).To(MatchRegexp(`manifest +it sets this value\n`))

		Expect(fairlead(ctx, namespace, "apply", "shop", objects("{}")).Code).To(Equal(0))
		Eventually(ctx, why("cm/web")).Should(And(
			MatchRegexp(`held up +not updated yet: `+missing+`; the applied values stay`),
			MatchRegexp(`bound +data.url = postgres://h1,`)))
		Expect(why("secret/login")()).To(And(ContainSubstring(missing), Not(ContainSubstring("h1")),
			Not(ContainSubstring("bound"))))
		Expect(fairlead(ctx, namespace, "tree", "shop").Out).
			To(MatchRegexp(`web +Ready +ExportMissing: not updated yet: ` + missing))
		Expect(fairlead(ctx, namespace, "status", "shop").Out).To(ContainSubstring(missing))
	})

	It("names the condition that holds up an object, with the values that it saw", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		Expect(fairlead(ctx, namespace, "apply", "shop", folder(
			"job.yaml",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: job, annotations: {fairlead.io/ready-when: self.data.phase "+
				"== 'done'}}\n"+
				"data: {phase: begun}\n",
			"extra.yaml",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra, annotations: {fairlead.io/include-when: "+
				"parameters.extra}}\n",
		)).Code).To(Equal(0))
		const unmet = `ready-when: self.data.phase == 'done' is false \(self.data.phase is "begun"\)`
		Eventually(ctx, func() string { return fairlead(ctx, namespace, "why", "cm/job").Out }).
			Should(MatchRegexp(`not ready +` + unmet))
		Expect(fairlead(ctx, namespace, "status", "shop").Out).To(MatchRegexp(unmet))
		Expect(fairlead(ctx, namespace, "why", "cm/extra").Out).To(MatchRegexp(
			`held up +not created yet: it is not decided whether the object is applied: include-when: the expression "parameters.extra" reads a parameter`))
	})

	It("names the condition that leaves out an object, with the values that it read, also if its type "+
		"is not served", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		annotated := func(apiVersion, kind, name, condition string) string {
			return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata:\n  name: " + name + "\n  annotations: {" +
				condition + "}\n"
		}
		applied(ctx, namespace, folder(
			"extra.yaml", annotated("v1", "ConfigMap", "extra",
				`fairlead.io/include-when: "has(parameters.extra) && parameters.extra"`),
			"backup.yaml", annotated("example.com/v1", "Backup", "backup",
				`fairlead.io/active-when: "served('Backup.example.com')"`),
			"plain.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\n",
		))
		const extra = `its condition include-when is false: has\(parameters.extra\) && parameters.extra \(parameters.extra is not set\)`
		const backup = `its condition active-when is false: served\('Backup.example.com'\) \(the API server does not serve Backup.example.com\)`
		Expect(fairlead(ctx, namespace, "why", "cm/extra").Out).To(MatchRegexp(`left out +` + extra))
		Expect(fairlead(ctx, namespace, "why", "backup/backup").Out).To(MatchRegexp(`left out +` + backup))
		Expect(fairlead(ctx, namespace, "why", "Backup.example.com/backup").Out).To(MatchRegexp(`left out +` + backup))
		Expect(fairlead(ctx, namespace, "why", "backup/other").Code).NotTo(Equal(0))
		for _, command := range []string{"status", "tree", "plan"} {
			Expect(fairlead(ctx, namespace, command, "shop").Out).To(And(
				MatchRegexp(`LEFT OUT +REASON +MESSAGE\n`), MatchRegexp(`ConfigMap `+namespace+`/extra +Excluded +`+extra),
				MatchRegexp(`Backup.example.com .*backup +Inactive +`+backup)), command)
		}

		By("an object that exists, and belongs to nobody")
		theirs := &corev1.ConfigMap{}
		theirs.Namespace, theirs.Name = namespace, "extra"
		Expect(k8s.Create(ctx, theirs)).To(Succeed())
		Expect(fairlead(ctx, namespace, "why", "cm/extra").Out).To(MatchRegexp(`left out +` + extra))
	})

	It("explains an object that a component only observes, absent and present", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		const theirs = "apiVersion: v1\nkind: ConfigMap\n" +
			"metadata: {name: theirs, annotations: {fairlead.io/reconcile-policy: observe}}\n"
		Expect(fairlead(ctx, namespace, "apply", "shop", folder("theirs.yaml", theirs)).Code).To(Equal(0))
		Eventually(ctx, func() string { return fairlead(ctx, namespace, "why", "cm/theirs").Out }).Should(
			MatchRegexp(`observed +only read, in wave 0; the component waits for it: Absent: it does not exist`))
		found := &corev1.ConfigMap{}
		found.Namespace, found.Name = namespace, "theirs"
		Expect(k8s.Create(ctx, found)).To(Succeed())
		Eventually(ctx, func() string { return fairlead(ctx, namespace, "why", "cm/theirs").Out }).Should(
			MatchRegexp(`component +Component.fairlead.io ` + namespace +
				`/shop, revision 1\n(.*\n)*observed +only read, in wave 0; the component does not wait`))
	})

	It("reports that the manifest is unknown if it cannot be rendered", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		applied(ctx, namespace, folder(shopTemplates()...), "--set", "color=blue")
		c := shopIn(ctx, namespace)
		c.Spec.Suspend = true
		c.Spec.Source.ConfigMap.Name = "none"
		Expect(k8s.Update(ctx, c)).To(Succeed())
		r := fairlead(ctx, namespace, "why", "cm/settings", "--field", "data.color")
		Expect(r).To(And(HaveField("Code", 0), HaveField("Out",
			MatchRegexp(`manifest +it is unknown whether the manifest sets this field\n`))))
		r = fairlead(ctx, namespace, "why", "cm/settings", "--field", "data.color", "-o", "json")
		Expect(r.Out).To(ContainSubstring(`"unknown": true`))
	})

	It("reports that an object of a controller has no manifest", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		applied(ctx, namespace, folder(shopTemplates()...))
		settings := &corev1.ConfigMap{}
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "settings"}, settings)).To(Succeed())
		made := metav1.NewControllerRef(settings, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		Expect(k8s.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "made", OwnerReferences: []metav1.OwnerReference{*made}},
			Data:       map[string]string{"color": "red"},
		})).To(Succeed())
		why := []string{"why", "cm/made", "--field", "data.color"}
		Expect(fairlead(ctx, namespace, why...).Out).To(MatchRegexp(`manifest +none: a controller made this object\n`))
		r := fairlead(ctx, namespace, append(why, "-o", "json")...)
		Expect(r.Out).To(And(ContainSubstring(`"rendered": false`), ContainSubstring(`"through": [`),
			Not(ContainSubstring(`"unknown": true`))))
	})

	DescribeTable("explains an external of a component of another operator", func(ctx SpecContext, kind, name string) {
		namespace := newNamespace(ctx)
		held(ctx, namespace, "shop")
		g := readyGadget(ctx, namespace, "g")
		g.GetStatus().Inventory = []string{"external.fairlead.io/v1/" + kind + "//orders u=token o=3 !ex@v0.1=begun"}
		g.GetStatus().Revision = 4
		Expect(k8s.Status().Update(ctx, g)).To(Succeed())
		r := fairlead(ctx, namespace, "why", name)
		Expect(r.Err).To(BeEmpty())
		Expect(r.Code).To(Equal(0))
		Expect(r.Out).To(And(
			ContainSubstring(kind+".external.fairlead.io orders"),
			MatchRegexp(`component +Gadget.gadgets.example.com `+namespace+`/g`), MatchRegexp(`wave +3`),
			ContainSubstring("only the operator of this type can render the component")))
	},
		Entry("by its kind", "Schema", "schema/orders"),
		Entry("by its kind and group", "Schema", "Schema.external.fairlead.io/orders"),
		Entry("whose kind the cluster serves", "Gadget", "gadget/orders"),
	)

	It("prefers an object of the cluster, and names it if there is no such external", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		r := fairlead(ctx, namespace, "why", "gadget/orders")
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(ContainSubstring("gadget.gadgets.example.com/orders does not exist in namespace"))
	})

	It("fails if there is nothing to explain", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(k8s.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "own"}})).
			To(Succeed())
		for want, args := range map[string][]string{
			"is not a dependent of a component": {"why", "cm/own"},
			"does not exist":                    {"why", "cm/none"},
			"has no field data.a":               {"why", "cm/own", "--field", "data.a"},
		} {
			r := fairlead(ctx, namespace, args...)
			Expect(r.Code).To(Equal(1))
			Expect(r.Err).To(ContainSubstring(want))
		}
		Expect(fairlead(ctx, namespace, "why", "own").Code).To(Equal(2))
		Expect(fairlead(ctx, namespace, "why", "cm/own", "--field", "a[").Code).To(Equal(2))
	})
}))
