package cli_test

import (
	"regexp"

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
	})

	It("names the dependency that holds up an object, which does not exist yet", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		const late = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: late, annotations: {fairlead.io/depends-on: Deployment.apps web}}\n"
		const web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n" +
			"  template:\n    metadata: {labels: {app: web}}\n    spec: {nodeSelector: {zone: nowhere}, containers: [{name: web, image: web}]}\n"
		Expect(fairlead(ctx, namespace, "apply", "shop", folder("late.yaml", late, "web.yaml", web)).Code).To(Equal(0))
		Eventually(ctx, func() string { return fairlead(ctx, namespace, "why", "cm/late").Out }).Should(
			MatchRegexp(`held up +not created yet: waits for Deployment.apps ` + namespace + `/web: `))
		Expect(fairlead(ctx, namespace, "why", "cm/other").Err).To(ContainSubstring("does not exist"))
	})

	It("explains an object that a component only observes, absent and present", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		const theirs = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, annotations: {fairlead.io/reconcile-policy: observe}}\n"
		Expect(fairlead(ctx, namespace, "apply", "shop", folder("theirs.yaml", theirs)).Code).To(Equal(0))
		Eventually(ctx, func() string { return fairlead(ctx, namespace, "why", "cm/theirs").Out }).Should(
			MatchRegexp(`observed +only read, in wave 0; the component waits for it: Absent: it does not exist`))
		found := &corev1.ConfigMap{}
		found.Namespace, found.Name = namespace, "theirs"
		Expect(k8s.Create(ctx, found)).To(Succeed())
		Eventually(ctx, func() string { return fairlead(ctx, namespace, "why", "cm/theirs").Out }).Should(
			MatchRegexp(`component +Component.fairlead.io ` + namespace + `/shop, revision 1\n(.*\n)*observed +only read, in wave 0; the component does not wait`))
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
