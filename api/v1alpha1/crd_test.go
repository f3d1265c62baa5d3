package v1alpha1_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

var _ = Describe("The custom resource definition", Ordered, func() {
	var (
		cluster *testcluster.Cluster
		c       client.Client
	)
	BeforeAll(func(ctx SpecContext) {
		cluster = testcluster.StartFor(GinkgoTB(), testcluster.Options{NoControllers: true})
		scheme := runtime.NewScheme()
		Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
		var err error
		c, err = client.New(cluster.Config(), client.Options{Scheme: scheme})
		Expect(err).NotTo(HaveOccurred())
		Expect(config.Install(ctx, c)).To(Succeed())
	}, NodeTimeout(time.Minute))

	create := func(ctx context.Context, name, spec string) error {
		object := &unstructured.Unstructured{}
		text := fmt.Sprintf("apiVersion: fairlead.io/v1alpha1\nkind: Component\n"+
			"metadata: {name: %s, namespace: default}\nspec: %s\n", name, spec)
		Expect(yaml.Unmarshal([]byte(text), &object.Object)).To(Succeed())
		return client.WithFieldValidation(c, metav1.FieldValidationStrict).Create(ctx, object)
	}
	const inline = "source: {inline: {files: {a.yaml: ''}}}"
	sum := strings.Repeat("a", 64)

	It("installs twice", func(ctx SpecContext) {
		Expect(config.Install(ctx, c)).To(Succeed())
	}, SpecTimeout(time.Minute))

	DescribeTable("accepts",
		func(ctx SpecContext, name, spec string) {
			Expect(create(ctx, name, spec)).To(Succeed())
		},
		Entry("inline files", "inline", "{"+inline+"}"),
		Entry("a ConfigMap", "config-map", "{source: {configMap: {name: a}}}"),
		Entry("the parts of an archive", "config-maps", "{source: {configMaps: {names: [a, b], sha256: "+sum+"}}}"),
		Entry("an archive behind a URL", "http", "{source: {http: {url: 'https://example.com:8443/a@1/b.tgz?c=d@e', sha256: "+
			sum+"}}}"),
		Entry("a chart without its definitions", "skip-crds", "{"+inline+", helm: {skipCRDs: true}}"),
		Entry("every field", "full", "{"+inline+
			`, path: charts/shop, generator: Helm, helm: {skipCRDs: false}, targetNamespace: prod, targetName: store.v1, values: {a: {b: [1, null]}},
			valuesFrom: [{kind: Secret, name: a, valuesKey: b, optional: true}], postRenderers: [{kustomize: {
				patches: [{patch: a, target: {group: a, version: b, kind: c, namespace: d, name: e, labelSelector: f=g, annotationSelector: h=i}}],
				images: [{name: a, newName: b, newTag: c, digest: d}], commonMetadata: {labels: {a: b}, annotations: {c: d}}}}], serviceAccountName: a,
			kubeConfig: {secretRef: {name: a}}, reconcilePolicy: once, reapplyInterval: 24h, adoptionPolicy: never, updatePolicy: recreate, deletePolicy: orphan, missingNamespacesPolicy: create,
			additionalManagedTypes: [{group: "*.example.com", kind: "*"}], allowEmpty: true, suspend: true, interval: 1h30m, retryInterval: 500ms, timeout: 0s}`),
		Entry("objects and clusters to adopt", "adopt",
			"{"+inline+`, adopt: [{kind: ConfigMap, name: a}, {group: apps, kind: Deployment,
			namespace: b, name: a, uid: 6f0b6f3c-0000-4000-8000-7d5e1c1b2a3e}, {cluster: 6f0b6f3c-0000-4000-8000-7d5e1c1b2a3f}]}`),
		Entry("two thousand objects to adopt", "adopt-many",
			"{"+inline+", adopt: ["+strings.Repeat("{group: apps, kind: Deployment, namespace: b, name: a, uid: u}, ",
				2000)+"]}"),
		Entry("a webhook with a poll", "webhook",
			"{"+inline+", inputs: [{name: a, object: {apiVersion: v1, kind: ConfigMap, name: a}}, {name: b, poll: {url: "+
				"'https://a'}}], webhook: {secretRef: {name: a, key: b}}}"),
		Entry("a webhook with externals", "webhook-externals",
			"{"+inline+", externals: [{kind: Schema, service: {url: 'https://a'}}], webhook: {secretRef: {name: a}}}"),
		Entry("a function", "function", "{generator: Function, function: {url: 'http://a.b:80/c'}, values: {a: b}}"),
		Entry("every field of a function", "full-function",
			`{generator: Function, function: {url: 'https://a', caRef: {kind: ConfigMap, name: a, key: b},
			tokenRef: {name: a, key: b}, clientCertificateRef: {name: a}, timeout: 50s, items: [{kind: Secret, name: a, optional: true}]}}`),
		Entry("a service for externals", "external",
			"{"+inline+", externals: [{kind: A, service: {url: 'http://a.b:80/c'}}]}"),
		Entry("every field of a service for externals", "full-external",
			"{"+inline+`, externals: [{kind: Schema2, service: {url: 'https://a',
			caRef: {kind: ConfigMap, name: a, key: b}, tokenRef: {name: a, key: b}, clientCertificateRef: {name: a},
			methods: [create, update, delete, find, list], timeout: 10m, poll: 24h, settle: 0s, idempotentFor: 720h, concurrency: 16, rate: 100}}]}`),
	)

	It("keeps an empty list of objects to adopt, and none", func(ctx SpecContext) {
		for name, adopt := range map[string]string{"adopt-empty": ", adopt: []", "adopt-none": ""} {
			Expect(create(ctx, name, "{"+inline+adopt+"}")).To(Succeed())
			stored := &v1alpha1.Component{}
			Expect(c.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, stored)).To(Succeed())
			Expect(stored.Spec.AdoptRules() == nil).To(Equal(adopt == ""))
			stored.Spec.Path = "changed"
			Expect(c.Update(ctx, stored)).To(Succeed())
			Expect(stored.Spec.AdoptRules() == nil).To(Equal(adopt == ""), "after an update by a typed client")
		}
	})

	const functionAlone = "set either both generator: Function and function, or neither"
	const sourceOrFunction = "set either source, or generator: Function with function"
	const badURL = "want an http or https URL without user and password"
	const badDuration = "want a duration of at most 290 years, such as 10m or 1h30m"
	const oneSource = "exactly one of inline, configMap, configMaps and http must be set"
	DescribeTable("refuses, with a reason,",
		func(ctx SpecContext, spec, want string) {
			Expect(create(ctx, "refused", spec)).To(MatchError(ContainSubstring(want)))
		},
		Entry("no source", "{}", sourceOrFunction),
		Entry("an empty source", "{source: {}}", oneSource),
		Entry("two sources", "{source: {inline: {files: {a: b}}, configMap: {name: a}}}", oneSource),
		Entry("three sources", "{source: {inline: {files: {a: b}}, configMap: {name: a}, http: {url: 'https://a', sha256: "+
			sum+"}}}", oneSource),
		Entry("one ConfigMap and several", "{source: {configMap: {name: a}, configMaps: {names: [b], sha256: "+sum+"}}}",
			oneSource),
		Entry("no parts", "{source: {configMaps: {names: [], sha256: "+sum+"}}}",
			"spec.source.configMaps.names in body should have at least 1 items"),
		Entry("a part without name", "{source: {configMaps: {names: [''], sha256: "+sum+"}}}",
			"spec.source.configMaps.names[0] in body should be at least 1 chars long"),
		Entry("parts without a digest", "{source: {configMaps: {names: [a]}}}",
			"spec.source.configMaps.sha256: Required value"),
		Entry("parts with another digest", "{source: {configMaps: {names: [a], sha256: abc}}}", "want 64 hexadecimal digits"),
		Entry("no files", "{source: {inline: {files: {}}}}",
			"spec.source.inline.files in body should have at least 1 properties"),
		Entry("a ConfigMap without name", "{source: {configMap: {name: ''}}}",
			"spec.source.configMap.name in body should be at least 1 chars long"),
		Entry("another engine", "{"+inline+", generator: Jsonnet}",
			`supported values: "Helm", "Kustomize", "GoTemplate", "Function"`),
		Entry("values that are not a map", "{"+inline+", values: [1]}", "spec.values in body must be of type object"),
		Entry("values from a Pod", "{"+inline+", valuesFrom: [{kind: Pod, name: a}]}",
			`supported values: "Secret", "ConfigMap"`),
		Entry("a namespace that cannot exist", "{"+inline+", targetNamespace: Prod}",
			"spec.targetNamespace in body should match"),
		Entry("a name that cannot exist", "{"+inline+", targetName: Store_1}", "spec.targetName in body should match"),
		Entry("a post-renderer of another kind", "{"+inline+", postRenderers: [{helm: {}}]}",
			`unknown field "spec.postRenderers[0].helm"`),
		Entry("an empty post-renderer", "{"+inline+", postRenderers: [{}]}", "want kustomize"),
		Entry("a field of kustomize that post-renderers do not support",
			"{"+inline+", postRenderers: [{kustomize: {namePrefix: a}}]}",
			`unknown field "spec.postRenderers[0].kustomize.namePrefix"`),
		Entry("a patch in a file", "{"+inline+", postRenderers: [{kustomize: {patches: [{path: a}]}}]}",
			`unknown field "spec.postRenderers[0].kustomize.patches[0].path"`),
		Entry("an empty patch", "{"+inline+", postRenderers: [{kustomize: {patches: [{patch: ''}]}}]}",
			"patch in body should be at least 1 chars long"),
		Entry("an image without name", "{"+inline+", postRenderers: [{kustomize: {images: [{newTag: a}]}}]}",
			"images[0].name: Required value"),
		Entry("an adoption of nothing", "{"+inline+", adopt: [{}]}", "set either cluster, or kind and name"),
		Entry("an adoption without a name", "{"+inline+", adopt: [{kind: ConfigMap}]}",
			"set either cluster, or kind and name"),
		Entry("an adoption of an object and of a cluster", "{"+inline+", adopt: [{cluster: a, namespace: b}]}",
			"set either cluster, or kind and name"),
		Entry("an adoption of a UID and of a cluster", "{"+inline+", adopt: [{cluster: a, uid: b}]}",
			"set either cluster, or kind and name"),
		Entry("an adoption of a UID without a name", "{"+inline+", adopt: [{kind: ConfigMap, uid: b}]}",
			"set either cluster, or kind and name"),
		Entry("an adoption from a cluster without a name", "{"+inline+", adopt: [{cluster: ''}]}",
			"adopt[0].cluster in body should be at least 1 chars long"),
		Entry("a webhook without an input", "{"+inline+", webhook: {secretRef: {name: a}}}",
			"webhook has an effect only with an input that is polled"),
		Entry("a webhook with an object alone",
			"{"+inline+", inputs: [{name: a, object: {apiVersion: v1, kind: ConfigMap, name: a}}], webhook: "+
				"{secretRef: {name: a}}}", "webhook has an effect only with an input that is polled"),
		Entry("a function without generator", "{function: {url: 'https://a'}}", functionAlone),
		Entry("another generator with a function", "{generator: Helm, function: {url: 'https://a'}}", functionAlone),
		Entry("no function", "{"+inline+", generator: Function}", functionAlone),
		Entry("a function with a source", "{"+inline+", generator: Function, function: {url: 'https://a'}}",
			sourceOrFunction),
		Entry("a function with a path", "{generator: Function, function: {url: 'https://a'}, path: a}",
			"path selects a folder in the source"),
		Entry("a function with another protocol", "{generator: Function, function: {url: 'ftp://a'}}", badURL),
		Entry("a function with credentials in its URL", "{generator: Function, function: {url: 'https://me@a'}}", badURL),
		Entry("an archive with credentials in its URL",
			"{source: {http: {url: 'https://me:secret@example.com/a.tgz', sha256: "+sum+"}}}", badURL),
		Entry("an archive without a host", "{source: {http: {url: 'https:///a.tgz', sha256: "+sum+"}}}", badURL),
		Entry("an invalid digest", "{source: {http: {url: 'https://a', sha256: 'sha256:"+sum+"'}}}",
			"want 64 hexadecimal digits in lower case"),
		Entry("options for charts with templates", "{"+inline+", generator: GoTemplate, helm: {skipCRDs: true}}",
			"helm is for charts"),
		Entry("a token for an http URL", "{generator: Function, function: {url: 'http://a', tokenRef: {name: a}}}",
			"need an https URL"),
		Entry("a function with a timeout that is too long",
			"{generator: Function, function: {url: 'https://a', timeout: 51s}}", "want a duration up to 50s"),
		Entry("a function with a timeout of zero", "{generator: Function, function: {url: 'https://a', timeout: 0s}}",
			"want a duration up to 50s"),
		Entry("two services for a kind of externals",
			"{"+inline+", externals: [{kind: A, service: {url: 'http://a'}}, {kind: A, service: {url: 'http://b'}}]}",
			"Duplicate value"),
		Entry("a kind of externals in lower case", "{"+inline+", externals: [{kind: a, service: {url: 'http://a'}}]}",
			"kind in body should match"),
		Entry("externals without a service", "{"+inline+", externals: [{kind: A}]}",
			"spec.externals[0].service: Required value"),
		Entry("a service for externals with another protocol",
			"{"+inline+", externals: [{kind: A, service: {url: 'ftp://a'}}]}", badURL),
		Entry("a CA for an http service for externals",
			"{"+inline+", externals: [{kind: A, service: {url: 'http://a', caRef: {name: a}}}]}", "need an https URL"),
		Entry("an unknown method of a service",
			"{"+inline+", externals: [{kind: A, service: {url: 'http://a', methods: [observe]}}]}", "supported values"),
		Entry("repeated creates without create",
			"{"+inline+", externals: [{kind: A, service: {url: 'http://a', methods: [delete], idempotentFor: 1h}}]}",
			"idempotentFor needs the method create"),
		Entry("a poll interval that is too short",
			"{"+inline+", externals: [{kind: A, service: {url: 'http://a', poll: 10ms}}]}", "want a duration from 1s to 24h"),
		Entry("a timeout of a service that is too long",
			"{"+inline+", externals: [{kind: A, service: {url: 'http://a', timeout: 11m}}]}", "want a duration from 1s to 10m"),
		Entry("a settle time without unit", "{"+inline+", externals: [{kind: A, service: {url: 'http://a', settle: '5'}}]}",
			"want a duration from 0s to 1h"),
		Entry("too many concurrent calls",
			"{"+inline+", externals: [{kind: A, service: {url: 'http://a', concurrency: 17}}]}",
			"should be less than or equal to 16"),
		Entry("a misspelt field", "{"+inline+", valeus: {}}", `unknown field "spec.valeus"`),
		Entry("a negative timeout of hooks", "{"+inline+", helm: {hookTimeout: -1m}}", badDuration),
		Entry("a timeout of hooks without unit", "{"+inline+", helm: {hookTimeout: '10'}}", badDuration),
		Entry("a negative duration", "{"+inline+", timeout: -1m}", badDuration),
		Entry("a duration without unit", "{"+inline+", interval: '10'}", badDuration),
		Entry("a duration that Go cannot read", "{"+inline+", retryInterval: 1d}", badDuration),
		Entry("a duration beyond the range of Go", "{"+inline+", interval: 9999999999h}", badDuration),
	)

	DescribeTable("reports a single error for", func(ctx SpecContext, spec string) {
		err := create(ctx, "refused", spec)
		Expect(apierrors.IsInvalid(err)).To(BeTrue())
		status, ok := err.(apierrors.APIStatus)
		Expect(ok).To(BeTrue())
		Expect(status.Status().Details.Causes).To(HaveLen(1), err.Error())
	},
		Entry("a duration without unit", "{"+inline+", interval: '10'}"),
		Entry("an invalid duration", "{"+inline+", timeout: soon}"),
		Entry("the duration of a function", "{generator: Function, function: {url: 'https://a', timeout: soon}}"),
		Entry("a duration beyond the range of Go", "{"+inline+", interval: 9999999999h}"),
		Entry("a digest", "{source: {http: {url: 'https://a', sha256: abc}}}"),
		Entry("a URL", "{source: {http: {url: example.com, sha256: "+sum+"}}}"),
	)

	It("accepts only durations that clients can decode", func(ctx SpecContext) {
		var components v1alpha1.ComponentList
		Expect(c.List(ctx, &components)).To(Succeed())
		Expect(len(components.Items)).To(BeNumerically(">=", 4))
	})

	It("accepts states and reasons of newer versions", func(ctx SpecContext) {
		var shop v1alpha1.Component
		Expect(c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "inline"}, &shop)).To(Succeed())
		shop.Status.State = "Pondering"
		shop.Status.Revision = 3
		shop.Status.Dependents = metav1alpha1.DependentCounts{Total: 5, Ready: 2, Summary: "2/5"}
		shop.Status.Conditions = []metav1.Condition{
			{
				Type: "Ready", Status: "False", Reason: "NeverHeardOf", Message: "waiting for Pod a",
				LastTransitionTime: metav1.Now(),
			},
			{Type: "Unheard", Status: "True", Reason: "New", LastTransitionTime: metav1.Now()},
		}
		Expect(c.Status().Update(ctx, &shop)).To(Succeed())
	})

	It("prints ready, state, message, ready/total, revision and age", func(ctx SpecContext) {
		table := tableOf(ctx, cluster.Config(), "inline")
		var columns []string
		for _, column := range table.ColumnDefinitions {
			columns = append(columns, column.Name)
		}
		Expect(columns).To(Equal([]string{"Name", "Ready", "State", "Message", "Dependents", "Revision", "Age"}))
		Expect(table.Rows).To(HaveLen(1))
		Expect(table.Rows[0].Cells[:6]).To(HaveExactElements("inline", "False", "Pondering", "waiting for Pod a", "2/5",
			BeNumerically("==", 3)))
	})
})

// tableOf requests a table, like kubectl get.
func tableOf(ctx context.Context, config *rest.Config, name string) metav1.Table {
	GinkgoHelper()
	config.GroupVersion = &v1alpha1.GroupVersion
	config.APIPath = "/apis"
	config.NegotiatedSerializer = clientgoscheme.Codecs.WithoutConversion()
	rc, err := rest.RESTClientFor(config)
	Expect(err).NotTo(HaveOccurred())
	raw, err := rc.Get().Namespace("default").Resource("components").Name(name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(ctx).Raw()
	Expect(err).NotTo(HaveOccurred())
	var table metav1.Table
	Expect(json.Unmarshal(raw, &table)).To(Succeed())
	return table
}
