package cli_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// thingTemplate renders a thing of a cloud, and a ConfigMap that has its id.
const thingTemplate = `apiVersion: external.fairlead.io/v1
kind: Thing
metadata: {name: one, annotations: {fairlead.io/export: thingID=self.id}}
references: [{kind: Secret, name: cloud-access}]
spec: {value: "{{ .Values.value }}"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, annotations: {fairlead.io/bind: "true"}}
data: {id: '{{ "${{ thingID }}" }}'}
`

// cloudService serves the kinds of things of a cloud to clients with the token in its field.
type cloudService struct {
	*httptest.Server
	token atomic.Value
}

// serveCloud serves the things of a cloud over HTTPS.
func serveCloud(cloud *componenttest.Cloud) *cloudService {
	GinkgoHelper()
	s := serveKind(external.Of("Thing", componenttest.Things{Cloud: cloud}, external.Options[componenttest.ThingSpec]{}))
	s.StartTLS()
	return s
}

// serveKind returns a server of a kind, as an author writes it. The caller starts it.
func serveKind(kind external.Driver) *cloudService {
	GinkgoHelper()
	handler := external.Handler(external.HandlerOptions{}, kind)
	s := &cloudService{}
	s.token.Store("first")
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != fmt.Sprintf("Bearer %s", s.token.Load()) {
			http.Error(w, "wrong token", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	DeferCleanup(s.Close)
	return s
}

// certificate returns the certificate of the service in PEM form.
func (s *cloudService) certificate() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

// spec returns the entry of spec.externals for the service.
func (s *cloudService) spec() v1alpha1.External {
	return v1alpha1.External{Kind: "Thing", Service: v1alpha1.ExternalService{
		URL: s.URL, CARef: &v1alpha1.CAReference{Kind: "ConfigMap", Name: "cloud-ca"},
		TokenRef: &v1alpha1.TokenReference{Name: "cloud-token"},
		Poll:     &metav1.Duration{Duration: time.Second}, Settle: &metav1.Duration{}, Rate: 100,
	}}
}

// createCredentials creates the objects that spec and thingTemplate name.
func (s *cloudService) createCredentials(ctx context.Context, namespace string) {
	GinkgoHelper()
	Expect(k8s.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloud-ca"},
		Data:       map[string]string{"ca.crt": s.certificate()},
	})).To(Succeed())
	for name, data := range map[string]string{"cloud-token": "first", "cloud-access": "irrelevant"} {
		Expect(k8s.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: map[string]string{"token": data},
		})).To(Succeed())
	}
}

// createShop creates the component "shop" with things of a cloud.
func createShop(ctx context.Context, namespace string, kinds ...v1alpha1.External) {
	GinkgoHelper()
	c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
	c.Spec.Source.Inline = &v1alpha1.InlineSource{Files: map[string]string{"thing.yaml": thingTemplate}}
	c.Spec.Values = &runtime.RawExtension{Raw: []byte(`{"value":"red"}`)}
	c.Spec.Externals = kinds
	Expect(k8s.Create(ctx, c)).To(Succeed())
}

// stateOf returns the state and the message of the component "shop".
func stateOf(ctx context.Context, namespace string) func() string {
	return func() string {
		c := shopIn(ctx, namespace)
		if c.Status.ObservedGeneration != c.Generation || len(c.Status.Conditions) == 0 {
			return ""
		}
		text := string(c.Status.State)
		for _, condition := range c.Status.Conditions {
			text += "\n" + condition.Type + " " + condition.Reason + " " + condition.Message
		}
		return text
	}
}

// changeShop changes the component "shop".
func changeShop(ctx context.Context, namespace string, change func(*v1alpha1.Component)) {
	GinkgoHelper()
	c := shopIn(ctx, namespace)
	base := c.DeepCopy()
	change(c)
	Expect(k8s.Patch(ctx, c, client.MergeFrom(base))).To(Succeed())
}

// deleteShop deletes the component "shop", and waits until it no longer exists.
func deleteShop(ctx context.Context, namespace string) {
	GinkgoHelper()
	c := shopIn(ctx, namespace)
	Expect(k8s.Delete(ctx, c)).To(Succeed())
	Eventually(ctx, func() string {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
			return "absent"
		}
		return fmt.Sprint(c.Status.State, c.Status.Waiting)
	}).Should(Equal("absent"))
}

// losesAnswers is a fault: creates take effect, and their answers are lost.
func losesAnswers(c componenttest.CloudCall) componenttest.CloudFault {
	if c.Method == "Create" {
		return componenttest.CloudFault{After: errors.New("connection reset")}
	}
	return componenttest.CloudFault{}
}

// variable matches the parts of outputs that differ at each run: tokens, times and addresses.
var variable = regexp.MustCompile(`[0-9a-f]{40}|\d{4}-\d\d-\d\dT[0-9:.]+Z|https://127[0-9.]+:\d+`)

// ages matches durations and abbreviated digests.
var ages = regexp.MustCompile(`\b(\d+m)?\d+s\b|\b[0-9a-f]{12}\b`)

// transcript runs commands, and returns them with their exit codes and outputs.
func transcript(ctx context.Context, namespace string, commands ...[]string) string {
	GinkgoHelper()
	var text strings.Builder
	for _, args := range commands {
		r := fairlead(ctx, namespace, args...)
		fmt.Fprintf(&text, "$ fairlead %s\n%s%s(exit code %d)\n\n", strings.Join(args, " "), r.Out, r.Err, r.Code)
	}
	return variable.ReplaceAllString(text.String(), "VARIABLE")
}

// grantReads lets a user read components and objects that are no Secrets in a namespace.
func grantReads(ctx context.Context, namespace, user string) {
	GinkgoHelper()
	Expect(k8s.Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"fairlead.io"}, Resources: []string{"components"}, Verbs: []string{"get", "list", "watch"}},
			{
				APIGroups: []string{""}, Resources: []string{"configmaps"},
				Verbs: []string{"get", "list", "watch", "patch", "create"},
			},
		},
	})).To(Succeed())
	Expect(k8s.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}},
	})).To(Succeed())
}

var _ = Describe("The ready-made operator with externals", onCluster(func() {
	It("handles them with a service, from the create to the delete", func(ctx SpecContext) {
		cloud, namespace := componenttest.NewCloud(), newNamespace(ctx)
		service := serveCloud(cloud)
		service.createCredentials(ctx, namespace)
		operate(namespace)
		createShop(ctx, namespace, service.spec())
		Eventually(ctx, stateOf(ctx, namespace)).Should(HavePrefix("Ready"))
		Expect(cloud.Things()).To(ConsistOf(HaveField("Value", "red")))
		settings := &corev1.ConfigMap{}
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "settings"}, settings)).To(Succeed())
		Expect(settings.Data).To(HaveKeyWithValue("id", cloud.Things()[0].ID))
		token := &corev1.Secret{}
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "cloud-token"}, token)).To(Succeed())
		Expect(token.Finalizers).NotTo(BeEmpty(), "a deletion needs the token")

		By("changing the spec")
		revision := shopIn(ctx, namespace).Status.Revision
		changeShop(ctx, namespace, func(c *v1alpha1.Component) {
			c.Spec.Values.Raw = []byte(`{"value":"blue"}`)
		})
		Eventually(ctx, cloud.Things).Should(ConsistOf(HaveField("Value", "blue")))

		By("changing the token of the service, without a restart")
		service.token.Store("second")
		changeShop(ctx, namespace, func(c *v1alpha1.Component) {
			c.Spec.Values.Raw = []byte(`{"value":"purple"}`)
		})
		Eventually(ctx, stateOf(ctx, namespace)).Should(ContainSubstring("401"))
		base := token.DeepCopy()
		token.Data = map[string][]byte{"token": []byte("second")}
		Expect(k8s.Patch(ctx, token, client.MergeFrom(base))).To(Succeed())
		Eventually(ctx, cloud.Things).Should(ConsistOf(HaveField("Value", "purple")))

		By("naming another Secret for the token")
		other := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "other"}, StringData: map[string]string{"key": "second"},
		}
		Expect(k8s.Create(ctx, other)).To(Succeed())
		changeShop(ctx, namespace, func(c *v1alpha1.Component) {
			c.Spec.Externals[0].Service.TokenRef = &v1alpha1.TokenReference{Name: "other", Key: "key"}
			c.Spec.Values.Raw = []byte(`{"value":"green"}`)
		})
		Eventually(ctx, cloud.Things).Should(ConsistOf(HaveField("Value", "green")))
		finalizers := func(s *corev1.Secret) func() []string {
			return func() []string {
				Expect(k8s.Get(ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
				return s.Finalizers
			}
		}
		Eventually(ctx, finalizers(other)).ShouldNot(BeEmpty())
		Eventually(ctx, finalizers(token)).Should(BeEmpty(), "no call needs this Secret any more")
		Eventually(ctx, func() int64 { return shopIn(ctx, namespace).Status.Revision }).
			Should(Equal(revision+3), "a changed service makes no revision")

		deleteShop(ctx, namespace)
		Expect(cloud.Things()).To(BeEmpty())
		Expect(cloud.Calls("Create")).To(Equal(1))
		Eventually(ctx, finalizers(other)).Should(BeEmpty())
	})

	It("asks a person about an uncertain create", func(ctx SpecContext) {
		cloud, namespace := componenttest.NewCloud(), newNamespace(ctx)
		cloud.SetFault(losesAnswers)
		service := serveCloud(cloud)
		service.createCredentials(ctx, namespace)
		operate(namespace)
		createShop(ctx, namespace, service.spec())
		Eventually(ctx, stateOf(ctx, namespace)).Should(And(
			HavePrefix("Stalled"), ContainSubstring("CreateUncertain"),
			ContainSubstring("shop Thing/one --id ID, or --absent")))
		made := cloud.Things()[0]

		expectGolden("external/uncertain.txt", namespace, transcript(ctx, namespace,
			[]string{"external", "list", "shop"}, []string{"tree", "shop"},
			[]string{"why", "Thing.external.fairlead.io/one"}, []string{"external"}, []string{"external", "nonsense"},
			[]string{"external", "resolve", "shop", "Thing/one"},
			[]string{"external", "resolve", "shop", "Thing/one", "--id", "a", "--absent"},
			[]string{"external", "resolve", "shop", "Thing/two", "--absent"},
			[]string{"external", "resolve", "shop", "one", "--absent"},
		))

		By("giving an id that does not exist, twice")
		for range 2 {
			r := fairlead(ctx, namespace, "external", "resolve", "shop", "Thing/one", "--id", "thing-7261")
			Expect(r.Code).To(Equal(1))
			Expect(r.Err).To(And(ContainSubstring("the operator did not use the answer: "),
				ContainSubstring(`the external "thing-7261", which the answer named, does not exist, and nothing was created`)))
			Expect(shopIn(ctx, namespace).Annotations).NotTo(HaveKey("fairlead.io/resolve-external"))
		}

		r := fairlead(ctx, namespace, "external", "resolve", "shop", "Thing/one", "--id", made.ID)
		Expect(r).To(Equal(result{Out: "Thing/one of component.fairlead.io/shop is resolved: it is Ready\n"}))
		Eventually(ctx, stateOf(ctx, namespace)).Should(HavePrefix("Ready"))
		Expect(cloud.Calls("Create")).To(Equal(1))
		Expect(shopIn(ctx, namespace).Annotations).NotTo(HaveKey("fairlead.io/resolve-external"))
		r = fairlead(ctx, namespace, "external", "resolve", "shop", "Thing/one", "--id", made.ID)
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(Equal("fairlead: Thing/one of component.fairlead.io/shop needs no answer: it is Ready\n"))
		deleteShop(ctx, namespace)
		Expect(cloud.Things()).To(BeEmpty())
	})

	It("asks about each of many externals, also about those that the status does not name", func(ctx SpecContext) {
		cloud, namespace := componenttest.NewCloud(), newNamespace(ctx)
		cloud.SetFault(losesAnswers)
		service := serveCloud(cloud)
		service.createCredentials(ctx, namespace)
		operate(namespace)
		c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
		c.Spec.Source.Inline = &v1alpha1.InlineSource{Files: map[string]string{"things.yaml": `{{ range until 12 }}---
apiVersion: external.fairlead.io/v1
kind: Thing
metadata: {name: "thing-{{ . }}"}
spec: {value: "{{ . }}"}
{{ end }}`}}
		c.Spec.Externals = []v1alpha1.External{service.spec()}
		Expect(k8s.Create(ctx, c)).To(Succeed())
		uncertain := func() int {
			r := fairlead(ctx, namespace, "external", "list", "shop", "-o", "json")
			Expect(r.Code).To(Equal(0), r.Err)
			return strings.Count(r.Out, `"needsAnswer": true`)
		}
		Eventually(ctx, uncertain).Should(Equal(12))
		Eventually(ctx, cloud.Things).Should(HaveLen(12)) // The record of a create is written before the call.
		Eventually(ctx, func() int { return len(shopIn(ctx, namespace).Status.Waiting) }).Should(Equal(10))
		for _, made := range cloud.Things() {
			// The status does not name all of them, so the calls for some may still be under way.
			Eventually(ctx, func() string {
				return fairlead(ctx, namespace, "external", "resolve", "shop", "Thing/thing-"+made.Value, "--id", made.ID).Out
			}).Should(HavePrefix("Thing/thing-" + made.Value + " of component.fairlead.io/shop is resolved: it"))
		}
		Eventually(ctx, stateOf(ctx, namespace)).Should(HavePrefix("Ready"))
		Expect(cloud.Calls("Create")).To(Equal(12))
	})

	It("asks about an external whose record is lost", func(ctx SpecContext) {
		cloud, namespace := componenttest.NewCloud(), newNamespace(ctx)
		service := serveCloud(cloud)
		service.createCredentials(ctx, namespace)
		stop := operate(namespace)
		createShop(ctx, namespace, service.spec())
		Eventually(ctx, stateOf(ctx, namespace)).Should(HavePrefix("Ready"))
		stop()
		secrets := &corev1.SecretList{}
		Expect(k8s.List(ctx, secrets, client.InNamespace(namespace))).To(Succeed())
		for i := range secrets.Items {
			if secret := &secrets.Items[i]; strings.HasPrefix(secret.Name, "externals-") {
				Expect(k8s.Patch(ctx, secret, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).
					To(Succeed())
				Expect(k8s.Delete(ctx, secret)).To(Succeed())
			}
		}
		operate(namespace)
		changeShop(ctx, namespace, func(c *v1alpha1.Component) { c.Spec.Values.Raw = []byte(`{"value":"blue"}`) })
		Eventually(ctx, stateOf(ctx, namespace)).Should(ContainSubstring("CreateUncertain"))
		r := fairlead(ctx, namespace, "external", "resolve", "shop", "Thing/one", "--id", cloud.Things()[0].ID)
		Expect(r.Code).To(Equal(0), r.Err)
		Eventually(ctx, cloud.Things).Should(ConsistOf(HaveField("Value", "blue")))
		Expect(cloud.Calls("Create")).To(Equal(1))
	})

	It("shows them in all commands", func(ctx SpecContext) {
		cloud, namespace := componenttest.NewCloud(), newNamespace(ctx)
		service := serveCloud(cloud)
		service.createCredentials(ctx, namespace)
		operate(namespace)
		createShop(ctx, namespace, service.spec())
		Eventually(ctx, stateOf(ctx, namespace)).Should(HavePrefix("Ready"))
		dir := folder("thing.yaml", thingTemplate)
		changed := []string{dir, "--set", "value=blue"}
		expectGolden("external/commands.txt", namespace, strings.ReplaceAll(transcript(ctx, namespace,
			[]string{"external", "list", "shop"}, []string{"external", "list", "shop", "-o", "name"},
			[]string{"tree", "shop"}, []string{"rbac", "shop"}, []string{"logs", "shop"},
			[]string{"why", "Thing.external.fairlead.io/one"}, []string{"why", "thing/one"}, []string{"why", "thing/two"},
			[]string{"why", "thing.external.fairlead.io/two"}, []string{"why", "thing/one", "--field", "spec.value"},
			slices.Concat([]string{"plan", "shop"}, changed), slices.Concat([]string{"diff", "shop"}, changed),
			[]string{"plan", "shop"}, []string{"diff", "shop"}, []string{"plan", "shop", "--delete"},
			slices.Concat([]string{"render"}, changed), slices.Concat([]string{"render", "--lint"}, changed),
			slices.Concat([]string{"render", "--graph=mermaid"}, changed),
			[]string{"rbac", "shop", "--dir", dir, "--set", "value=blue"},
		), dir, "DIR"))
	})

	It("names them in the status, the events and the history", func(ctx SpecContext) {
		cloud, namespace := componenttest.NewCloud(), newNamespace(ctx)
		service := serveCloud(cloud)
		service.createCredentials(ctx, namespace)
		operate(namespace)
		c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
		c.Spec.Source.Inline = &v1alpha1.InlineSource{Files: map[string]string{
			"thing.yaml": "apiVersion: external.fairlead.io/v1\nkind: Thing\nmetadata: {name: one}\n" +
				"spec: {value: \"{{ .Values.value }}\"}\n",
		}}
		c.Spec.Values = &runtime.RawExtension{Raw: []byte(`{"value":"red"}`)}
		c.Spec.Externals = []v1alpha1.External{service.spec()}
		Expect(k8s.Create(ctx, c)).To(Succeed())
		Eventually(ctx, stateOf(ctx, namespace)).Should(HavePrefix("Ready"))
		events := func(note string) {
			GinkgoHelper()
			Eventually(ctx, func() string { return fairlead(ctx, namespace, "events", "shop").Out }).
				Should(ContainSubstring(note))
		}
		events("create Thing.external.fairlead.io one")

		By("repairing it")
		made := cloud.Things()[0]
		made.Value = "of others"
		cloud.Put(made)
		events("apply Thing.external.fairlead.io one")
		Eventually(ctx, stateOf(ctx, namespace)).Should(HavePrefix("Ready"))
		ready := transcript(ctx, namespace, []string{"status", "shop"})

		By("failing")
		cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
			if c.Method == "Update" {
				return componenttest.CloudFault{Before: external.Refused(errors.New("the quota is used up"))}
			}
			return componenttest.CloudFault{}
		})
		changeShop(ctx, namespace, func(c *v1alpha1.Component) { c.Spec.Values.Raw = []byte(`{"value":"blue"}`) })
		Eventually(ctx, stateOf(ctx, namespace)).Should(HavePrefix("Stalled"))
		events("the quota is used up")
		expectGolden("external/reports.txt", namespace, ages.ReplaceAllString(ready+transcript(ctx, namespace,
			[]string{"status", "shop"}, []string{"events", "shop"}, []string{"history", "shop"}, []string{"list"},
		), "VARIABLE"))
	})

	It("shows as much as a person may read", func(ctx SpecContext) {
		cloud, namespace := componenttest.NewCloud(), newNamespace(ctx)
		service := serveCloud(cloud)
		service.createCredentials(ctx, namespace)
		operate(namespace)
		createShop(ctx, namespace, service.spec())
		Eventually(ctx, stateOf(ctx, namespace)).Should(HavePrefix("Ready"))
		grantReads(ctx, namespace, "reader")
		as := []string{"--as", "reader"}
		dir := folder("thing.yaml", thingTemplate)
		expectGolden("external/reader.txt", namespace, strings.ReplaceAll(transcript(ctx, namespace,
			slices.Concat(as, []string{"external", "list", "shop"}), slices.Concat(as, []string{"tree", "shop"}),
			slices.Concat(as, []string{"diff", "shop", dir, "--set", "value=blue"}),
			slices.Concat(as, []string{"external", "resolve", "shop", "Thing/one", "--absent"}),
		), dir, "DIR"))

		By("answering without the right to patch the component")
		cloud.SetFault(losesAnswers)
		cloud.Remove(cloud.Things()[0].ID)
		Eventually(ctx, stateOf(ctx, namespace)).Should(ContainSubstring("CreateUncertain"))
		r := fairlead(ctx, namespace, "--as", "reader", "external", "resolve", "shop", "Thing/one", "--absent")
		Expect(r.Code).To(Equal(3))
		Expect(r.Err).To(ContainSubstring("to answer, you need the right to patch component.fairlead.io/shop"))
	})

	It("is not harmed by hostile services, which harm their own component alone", func(ctx SpecContext) {
		cloud, namespace := componenttest.NewCloud(), newNamespace(ctx)
		service := serveCloud(cloud)
		service.createCredentials(ctx, namespace)
		operate(namespace)
		released := make(chan struct{})
		DeferCleanup(func() { close(released) })
		for name, answer := range map[string]http.HandlerFunc{
			"hangs": func(http.ResponseWriter, *http.Request) { <-released },
			"huge": func(w http.ResponseWriter, _ *http.Request) {
				for chunk := bytes.Repeat([]byte("["), 1<<16); ; {
					if _, err := w.Write(chunk); err != nil {
						return
					}
				}
			},
			"nonsense": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"external":{"id":7}}`) },
			"nested": func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"apiVersion":"external.fairlead.io/v1","kind":"Answer","external":{"id":"1","observed":`+
					strings.Repeat("[", 1<<18))
			},
			"closes": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		} {
			hostile := httptest.NewServer(answer)
			DeferCleanup(hostile.Config.Close)
			c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			c.Spec.Source.Inline = &v1alpha1.InlineSource{Files: map[string]string{
				"thing.yaml": "apiVersion: external.fairlead.io/v1\nkind: Thing\nmetadata: {name: one}\nspec: {value: a}\n",
			}}
			c.Spec.Externals = []v1alpha1.External{{Kind: "Thing", Service: v1alpha1.ExternalService{
				URL: hostile.URL, Timeout: &metav1.Duration{Duration: time.Second}, Poll: &metav1.Duration{Duration: time.Second},
			}}}
			Expect(k8s.Create(ctx, c)).To(Succeed())
			defer func() {
				Eventually(ctx, func() string {
					Expect(k8s.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
					return fmt.Sprint(c.Status.State, c.Status.Waiting)
				}).Should(And(HavePrefix("Stalled"), ContainSubstring("CreateUncertain")), name)
			}()
		}
		createShop(ctx, namespace, service.spec())
		Eventually(ctx, stateOf(ctx, namespace)).Should(HavePrefix("Ready"))
		changeShop(ctx, namespace, func(c *v1alpha1.Component) {
			c.Spec.Values.Raw = []byte(`{"value":"blue"}`)
		})
		Eventually(ctx, cloud.Things).Should(ConsistOf(HaveField("Value", "blue")))
		deleteShop(ctx, namespace)
	})

	It("creates an external again that does not exist", func(ctx SpecContext) {
		cloud, namespace := componenttest.NewCloud(), newNamespace(ctx)
		cloud.SetFault(losesAnswers)
		service := serveCloud(cloud)
		service.createCredentials(ctx, namespace)
		operate(namespace)
		createShop(ctx, namespace, service.spec())
		Eventually(ctx, stateOf(ctx, namespace)).Should(ContainSubstring("CreateUncertain"))
		cloud.Remove(cloud.Things()[0].ID)

		By("answering while creates are still uncertain")
		r := fairlead(ctx, namespace, "external", "resolve", "shop", "Thing/one", "--absent")
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(ContainSubstring("was created again, and the result is not known again"))
		cloud.Remove(cloud.Things()[0].ID)

		By("answering again")
		cloud.SetFault(nil)
		r = fairlead(ctx, namespace, "external", "resolve", "shop", "Thing/one", "--absent")
		Expect(r).To(Equal(result{Out: "Thing/one of component.fairlead.io/shop is resolved: it is Ready\n"}))
		Expect(cloud.Things()).To(HaveLen(1))
	})
}))
