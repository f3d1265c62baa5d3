package conformance_test

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// hookChart has hooks for all events, and two ordinary objects. Like a gadget, it has the single value manifests.
func hookChart() fs.FS { return os.DirFS("testdata/hooks") }

// tale returns the writes to objects in a namespace as text. It excludes Secrets, because Helm and the operator store
// records in Secrets.
func tale(events testcluster.Events, namespace string) []string {
	var told []string
	for _, e := range succeeded(inNamespace(events, namespace).Writes()) {
		if e.Resource == "secrets" || e.Resource == "gadgets" {
			continue
		}
		verb := "update"
		switch {
		case e.Verb == "delete":
			verb = "delete"
		case e.Code == 201:
			verb = "create"
		}
		told = append(told, verb+" "+e.Resource+"/"+e.Name)
	}
	return told
}

// certificateChart returns a chart of a common form: a Job before the objects of the chart creates a certificate, and
// another Job after them writes the certificate into the configuration. Both Jobs use the same service account.
func certificateChart() fs.FS {
	const events = "pre-install,pre-upgrade,post-install,post-upgrade"
	hook := func(apiVersion, kind, name, events, more string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata:\n  name: " + name +
			"\n  annotations:\n    helm.sh/hook: " + events +
			"\n    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded\n" + more)}
	}
	run := `spec:
  template:
    spec:
      serviceAccountName: admission
      restartPolicy: Never
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: "busybox:1"}]
`
	return fstest.MapFS{
		"Chart.yaml":             {Data: []byte("apiVersion: v2\nname: certificate\nversion: 1.0.0\n")},
		"templates/account.yaml": hook("v1", "ServiceAccount", "admission", events, ""),
		"templates/role.yaml":    hook("rbac.authorization.k8s.io/v1", "Role", "admission", events, "rules: []\n"),
		"templates/create.yaml":  hook("batch/v1", "Job", "admission-create", "pre-install,pre-upgrade", run),
		"templates/patch.yaml":   hook("batch/v1", "Job", "admission-patch", "post-install,post-upgrade", run),
		"templates/configmap.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n" +
			"data: {value: {{ quote .Values.manifests }}}\n")},
	}
}

var _ = Describe("The look-ups of a chart:", func() {
	It("a chart recognises the objects of its own release, and renders them again after a change", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		charts, err := helm.New(fstest.MapFS{
			"Chart.yaml": {Data: []byte("apiVersion: v2\nname: class\nversion: 1.0.0\n")},
			"templates/class.yaml": {Data: []byte(`
{{- $found := lookup "v1" "ConfigMap" .Release.Namespace "class" }}
{{- if or (not $found) (eq .Release.Name (dig "metadata" "annotations" "meta.helm.sh/release-name" "" $found)) }}
apiVersion: v1
kind: ConfigMap
metadata: {name: class}
data: {value: {{ quote .Values.manifests }}, manager: {{ dig "metadata" "labels" "app.kubernetes.io/managed-by" "none" $found }}}
{{- end }}
`)},
		}, helm.Options{AnnotationPrefix: operator})
		Expect(err).NotTo(HaveOccurred())
		runOperator(operator, operatorOptions{generate: charts})
		g := newGadget(ctx, namespace, "demo", "one", servedBy(operator))
		expectReady(ctx, g)
		class := mustGet(ctx, "v1", "ConfigMap", namespace, "class")
		Expect(class.Object["data"]).To(Equal(map[string]any{"value": "one", "manager": "none"}))
		changeManifests(ctx, g, "two")
		expectReady(ctx, g)
		again := mustGet(ctx, "v1", "ConfigMap", namespace, "class")
		Expect(again.GetUID()).To(Equal(class.GetUID()))
		Expect(again.Object["data"]).To(Equal(map[string]any{"value": "two", "manager": "Helm"}))
		Expect(again.GetAnnotations()).NotTo(HaveKey("meta.helm.sh/release-name"))
	})

	It("an upgrade that releases a kept Secret writes each object once, and the chart still "+
		"recognises the Secret", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		charts, err := helm.New(fstest.MapFS{
			"Chart.yaml": {Data: []byte("apiVersion: v2\nname: login\nversion: 1.0.0\n")},
			"templates/all.yaml": {Data: []byte(`
{{- $found := lookup "v1" "Secret" .Release.Namespace "login" }}
{{- $release := dig "metadata" "annotations" "meta.helm.sh/release-name" "none" $found }}
{{- if and (ne .Values.manifests "without") (or (not $found) (eq $release .Release.Name)) }}
apiVersion: v1
kind: Secret
metadata: {name: login, annotations: {helm.sh/resource-policy: keep}}
data: {password: {{ dig "data" "password" (randAlphaNum 16 | b64enc) $found }}}
{{- end }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {value: {{ quote .Values.manifests }}, release: {{ $release }}}
`)},
		}, helm.Options{AnnotationPrefix: operator})
		Expect(err).NotTo(HaveOccurred())
		runOperator(operator, operatorOptions{generate: charts})
		g := newGadget(ctx, namespace, "demo", "with", servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		password := content(ctx, "Secret", namespace, "login")

		mark := markAudit(ctx)
		changeManifests(ctx, g, "without")
		expectReady(ctx, g)
		settle(ctx, operator)
		requests := inNamespace(requestsSince(ctx, mark, operator), namespace)
		named := func(e testcluster.Event) bool { return e.Name == "login" || e.Name == "settings" }
		Expect(verbs(requests.Writes().Where(named))).To(ConsistOf("patch secrets 200", "patch configmaps 200"))
		Expect(content(ctx, "ConfigMap", namespace, "settings")).
			To(Equal(map[string]any{"value": "without", "release": "demo"}))
		expectReleasedBy(mustGet(ctx, "v1", "Secret", namespace, "login"), operator, namespace, "demo")

		changeManifests(ctx, g, "again")
		expectReady(ctx, g)
		Expect(mustGet(ctx, "v1", "Secret", namespace, "login").GetLabels()).To(HaveKey(operator + "/owner-id"))
		Expect(content(ctx, "Secret", namespace, "login")).To(Equal(password))
	})

	It("a chart does not recognise an object of another client as its own", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		charts, err := helm.New(fstest.MapFS{
			"Chart.yaml": {Data: []byte("apiVersion: v2\nname: class\nversion: 1.0.0\n")},
			"templates/seen.yaml": {Data: []byte(`apiVersion: v1
kind: ConfigMap
metadata: {name: seen}
data: {annotations: {{ dig "metadata" "annotations" dict (lookup "v1" "ConfigMap" .Release.Namespace "theirs") | toJson | quote }}}
`)},
		}, helm.Options{AnnotationPrefix: operator})
		Expect(err).NotTo(HaveOccurred())
		runOperator(operator, operatorOptions{generate: charts})
		Expect(k8s.Create(ctx, newConfigMap(namespace, "theirs"))).To(Succeed())
		expectReady(ctx, newGadget(ctx, namespace, "demo", "one", servedBy(operator)))
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "seen").Object["data"]).
			To(Equal(map[string]any{"annotations": "{}"}))
	})
})

var _ = Describe("The resource groups of a chart:", func() {
	It("the objects of a group wait for the groups that theirs depends on, and are "+
		"deleted before them", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		const inDatabase, inWeb = "helm.sh/resource-group: database", "helm.sh/resource-group: web"
		charts, err := helm.New(fstest.MapFS{
			"Chart.yaml": {Data: []byte("apiVersion: v2\nname: shop\nversion: 1.0.0\n")},
			"templates/web.yaml": {Data: []byte(configMap("web", "x", inWeb,
				`helm.sh/depends-on/resource-groups: '["database"]'`))},
			"templates/more.yaml":    {Data: []byte(configMap("more", "x", inWeb))},
			"templates/other.yaml":   {Data: []byte(configMap("other", "x"))},
			"templates/schema.yaml":  {Data: []byte(configMap("schema", "x", inDatabase))},
			"templates/backend.yaml": {Data: []byte("{{ .Values.manifests }}")},
		}, helm.Options{AnnotationPrefix: operator, Sequencing: true})
		Expect(err).NotTo(HaveOccurred())
		runOperator(operator, operatorOptions{generate: charts})
		g := newGadget(ctx, namespace, "demo", heldDeployment("backend", inDatabase), servedBy(operator))
		expectWaitFor(ctx, g, "web", "Deployment.apps "+namespace+"/backend")
		expectWaitFor(ctx, g, "more", "Deployment.apps "+namespace+"/backend")
		Expect(configMapExists(ctx, namespace, "schema") && configMapExists(ctx, namespace, "other")).To(BeTrue())
		Expect(countConfigMaps(ctx, namespace)).To(Equal(2), "the group web must wait for all objects of the group database")
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Manifests = removeLine(g.Spec.Manifests, "nodeSelector") })
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(countConfigMaps(ctx, namespace)).To(Equal(4))

		mark := markAudit(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
		deletes := writesIn(ctx, mark, operator, namespace)
		Expect(deletes).To(ConsistOf("delete configmaps/web", "delete configmaps/more", "delete configmaps/other",
			"delete configmaps/schema", "delete deployments/backend"))
		for _, ofWeb := range []string{"delete configmaps/web", "delete configmaps/more"} {
			for _, ofDatabase := range []string{"delete configmaps/schema", "delete deployments/backend"} {
				Expect(indexOf(deletes, ofWeb)).To(BeNumerically("<", indexOf(deletes, ofDatabase)), "%v", deletes)
			}
		}
	})
})

var _ = Describe("The hooks of a chart:", func() {
	It("hooks of a chart for several events exist while the Jobs of each event run", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		charts, err := helm.New(certificateChart(), helm.Options{AnnotationPrefix: operator})
		Expect(err).NotTo(HaveOccurred())
		runOperator(operator, operatorOptions{generate: charts})
		g := newGadget(ctx, namespace, "demo", "one", servedBy(operator))
		expectReady(ctx, g)
		told := func(mark auditMark, verb string) []string {
			return slices.DeleteFunc(tale(requestsSince(ctx, mark, operator), namespace), func(s string) bool {
				return strings.Contains(s, "configmaps/") && !strings.HasPrefix(s, verb)
			})
		}
		around := func(job string) []string {
			return []string{
				"create serviceaccounts/admission", "create roles/admission", "create jobs/" + job,
				"delete jobs/" + job, "delete roles/admission", "delete serviceaccounts/admission",
			}
		}
		want := func(verb string) []string {
			return slices.Concat(around("admission-create"), []string{verb + " configmaps/settings"}, around("admission-patch"))
		}
		Expect(told(0, "create")).To(Equal(want("create")))
		By("upgrading")
		mark := markAudit(ctx)
		changeManifests(ctx, g, "two")
		expectReady(ctx, g)
		Expect(told(mark, "update")).To(Equal(want("update")))
		By("sending no request when nothing changed")
		mark = markAudit(ctx)
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(tale(requestsSince(ctx, mark, operator), namespace)).To(BeEmpty())
	})

	It("a webhook configuration can be a hook before its Service, and is deleted before it", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		webhook := func(name, hook string) *fstest.MapFile {
			return &fstest.MapFile{Data: []byte("apiVersion: admissionregistration.k8s.io/v1\n" +
				"kind: ValidatingWebhookConfiguration\n" +
				"metadata:\n  name: " + namespace + name + "\n  annotations: {helm.sh/hook: " + hook + "}\n" + `webhooks:
  - name: ` + name + `.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Ignore
    timeoutSeconds: 1
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ` + namespace + `}}
    rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [limitranges]}]
    clientConfig: {service: {namespace: ` + namespace + ", name: " + name + "}}\n")}
		}
		service := func(name, annotations string) *fstest.MapFile {
			return &fstest.MapFile{Data: []byte("apiVersion: v1\nkind: Service\nmetadata: {name: " + name + annotations +
				"}\nspec: {ports: [{port: 443}]}\n")}
		}
		charts, err := helm.New(fstest.MapFS{
			"Chart.yaml":       {Data: []byte("apiVersion: v2\nname: webhooks\nversion: 1.0.0\n")},
			"templates/a.yaml": webhook("in-release", `"pre-install,pre-upgrade"`),
			"templates/b.yaml": webhook("after", "pre-install"),
			"templates/c.yaml": webhook("heavy", "pre-install"),
			"templates/d.yaml": service("in-release", ""),
			"templates/e.yaml": service("after", ", annotations: {helm.sh/hook: post-install}"),
			"templates/f.yaml": service("heavy", `, annotations: {helm.sh/hook: pre-install, helm.sh/hook-weight: "5"}`),
			"templates/g.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n" +
				"data: {value: {{ quote .Values.manifests }}}\n")},
		}, helm.Options{AnnotationPrefix: operator})
		Expect(err).NotTo(HaveOccurred())
		runOperator(operator, operatorOptions{generate: charts})
		g := newGadget(ctx, namespace, "app", "one", servedBy(operator))
		expectReady(ctx, g)
		changeManifests(ctx, g, "two")
		Eventually(ctx, func() any { return content(ctx, "ConfigMap", namespace, "settings")["value"] }).Should(Equal("two"))
		expectReady(ctx, g)
		settle(ctx, operator)
		mark := markAudit(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
		var deleted []string
		for _, e := range succeeded(requestsSince(ctx, mark, operator).Writes()) {
			if e.Verb == "delete" && slices.Contains([]string{"services", "validatingwebhookconfigurations"}, e.Resource) {
				deleted = append(deleted, strings.TrimPrefix(e.Name, namespace)+" "+e.Resource)
			}
		}
		for _, name := range []string{"in-release", "after", "heavy"} {
			before := slices.Index(deleted, name+" validatingwebhookconfigurations")
			Expect(before).To(And(BeNumerically(">=", 0), BeNumerically("<", slices.Index(deleted, name+" services"))), "%s: %v",
				name, deleted)
		}
	})

	It("a hook of a chart that is not ready within the timeout of hooks has failed, and is deleted if its delete policy "+
		"is hook-failed", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		hook := oneJobFor(newGroup(), "slow", "helm.sh/hook: 'post-install,post-upgrade'",
			"helm.sh/hook-delete-policy: '{{ .Values.manifests }}'")
		charts, err := helm.New(fstest.MapFS{
			"Chart.yaml":          {Data: []byte("apiVersion: v2\nname: slow\nversion: 1.0.0\n")},
			"templates/hook.yaml": {Data: []byte(hook)},
		}, helm.Options{AnnotationPrefix: operator, HookTimeout: 2 * time.Second})
		Expect(err).NotTo(HaveOccurred())
		runOperator(operator, operatorOptions{generate: charts})
		g := newGadget(ctx, namespace, "demo", "before-hook-creation", servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True"), ContainSubstring("/slow (not ready within 2s")))
		settle(ctx, operator)
		Expect(tale(requestsSince(ctx, 0, operator), namespace)).To(Equal([]string{"create jobs/slow"}))

		By("running the hook with the delete policy hook-failed")
		mark := markAudit(ctx)
		changeManifests(ctx, g, "before-hook-creation,hook-failed")
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
			HavePrefix("True"), ContainSubstring("/slow (not ready within 2s"),
			ContainSubstring("it was deleted, as its manifest says")))
		Expect(tale(requestsSince(ctx, mark, operator), namespace)).
			To(Equal([]string{"delete jobs/slow", "create jobs/slow", "delete jobs/slow"}))
	})

	It("hooks of a chart run once at each revision, and do not run again to repair objects that were deleted after "+
		"they completed", slow, func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		charts, err := helm.New(hookChart(), helm.Options{AnnotationPrefix: operator})
		Expect(err).NotTo(HaveOccurred())
		stop := runOperator(operator, operatorOptions{generate: charts})
		g := newGadget(ctx, namespace, "demo", "one", servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		created := func() int {
			return len(slices.DeleteFunc(tale(requestsSince(ctx, 0, operator), namespace), func(s string) bool {
				return s !=
					"create jobs/a-before"
			}))
		}
		Expect(created()).To(Equal(1))
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a-before"}}
		Expect(k8s.Delete(ctx, job, client.PropagationPolicy("Background"))).To(Succeed())
		expectNotFound(ctx, job)
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		stop()
		other := runOperator(operator, operatorOptions{generate: charts})
		defer other()
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(created()).To(Equal(1), "a repair or a restart must not create the Job again")
		changeManifests(ctx, g, "two")
		Eventually(ctx, created).Should(Equal(2), "a new revision must create the Job again")
		expectReady(ctx, g)
	})
})
