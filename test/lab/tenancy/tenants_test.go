package tenancy_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

const (
	// account is the service account that the chart names for components without one.
	account     = "fairlead"
	malloryName = "mallory"
	good        = "good"
)

// level is the value of the good tenant's component that was set last.
var level int

func clientOf(config *rest.Config) client.Client {
	GinkgoHelper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return c
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// newNamespace creates a namespace with the default service account of components. The service account may edit all
// objects in the namespace, except roles.
func newNamespace(ctx context.Context, name string) {
	GinkgoHelper()
	Expect(admin.Create(ctx, &corev1.Namespace{ObjectMeta: named("", name)})).To(Succeed())
	Expect(admin.Create(ctx, &corev1.ServiceAccount{ObjectMeta: named(name, account)})).To(Succeed())
}

// bind grants a ClusterRole in a namespace to subjects.
func bind(ctx context.Context, namespace, role string, subjects ...rbacv1.Subject) {
	GinkgoHelper()
	Expect(admin.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "tenancy-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}, Subjects: subjects,
	})).To(Succeed())
}

func accountIn(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
}

// newTenancy creates a namespace of mallory, in which he and the service account of his components may edit all objects
// but roles. His components are deleted after the spec.
func newTenancy(ctx context.Context) string {
	GinkgoHelper()
	return tenancyWith(ctx, "edit", "edit")
}

// newBlindTenancy creates a namespace of mallory in which neither he nor the service account of his components may read
// Secrets. He may create Secrets.
func newBlindTenancy(ctx context.Context) string {
	GinkgoHelper()
	write := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	role := &rbacv1.ClusterRole{ObjectMeta: named("", "blind"), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: write},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
	}}
	Expect(client.IgnoreAlreadyExists(admin.Create(ctx, role))).To(Succeed())
	return tenancyWith(ctx, role.Name, role.Name)
}

func tenancyWith(ctx context.Context, ofTenant, ofAccount string) string {
	GinkgoHelper()
	name := "tenant-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	newNamespace(ctx, name)
	user := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: malloryName}
	bind(ctx, name, ofAccount, accountIn(name, account))
	bind(ctx, name, ofTenant, user)
	bind(ctx, name, "fairlead-components-editor", user)
	Eventually(ctx, func() error {
		probe := newComponent(name, "probe", map[string]string{"a.yaml": metadata})
		return mallory.Create(ctx, probe, client.DryRunAll)
	}).Should(Succeed(), "the rights of the tenant have no effect")
	DeferCleanup(func(ctx SpecContext) { removeComponents(ctx, name) }, NodeTimeout(3*time.Minute))
	return name
}

// removeComponents deletes the components of a namespace. If the operator has ended, it removes their finalizers.
func removeComponents(ctx context.Context, namespace string) {
	GinkgoHelper()
	if operator.ended() {
		reportCrashLoop(ctx)
		operator.stop()
	}
	list := &v1alpha1.ComponentList{}
	Expect(admin.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	for i := range list.Items {
		if operator.ended() {
			without := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
			Expect(client.IgnoreNotFound(admin.Patch(ctx, &list.Items[i], without))).To(Succeed())
		}
		Expect(client.IgnoreNotFound(admin.Delete(ctx, &list.Items[i]))).To(Succeed())
	}
	Eventually(ctx, func() ([]v1alpha1.Component, error) {
		err := admin.List(ctx, list, client.InNamespace(namespace))
		return list.Items, err
	}).Should(BeEmpty())
}

// newComponent returns a component with a source in its spec. It is not created yet.
func newComponent(namespace, name string, files map[string]string) *v1alpha1.Component {
	return &v1alpha1.Component{
		ObjectMeta: named(namespace, name),
		Spec:       v1alpha1.ComponentSpec{Source: v1alpha1.Source{Inline: &v1alpha1.InlineSource{Files: files}}},
	}
}

// attack creates components as mallory.
func attack(ctx context.Context, components ...*v1alpha1.Component) {
	GinkgoHelper()
	for _, c := range components {
		Expect(mallory.Create(ctx, c)).To(Succeed(), c.Name)
	}
}

// verdict returns the state of a component and its condition Ready, or an empty text if the condition is for another
// generation.
func verdict(c *v1alpha1.Component) string {
	ready := meta.FindStatusCondition(c.Status.Conditions, metav1alpha1.ConditionReady)
	if ready == nil || ready.ObservedGeneration != c.Generation {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", c.Status.State, ready.Reason, ready.Message)
}

// status returns a function that reads the verdict of a component. It ends a poll if the operator has ended.
func status(ctx context.Context, namespace, name string) func() (string, error) {
	return func() (string, error) {
		if err := operator.alive(); err != nil {
			return "", err
		}
		c := &v1alpha1.Component{}
		err := admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, c)
		return verdict(c), err
	}
}

// expectEach waits until each component of a namespace has a verdict that contains one of the texts.
func expectEach(ctx context.Context, namespace string, texts ...string) {
	GinkgoHelper()
	Eventually(ctx, func() ([]string, error) {
		if err := operator.alive(); err != nil {
			return nil, err
		}
		list := &v1alpha1.ComponentList{}
		err := admin.List(ctx, list, client.InNamespace(namespace))
		var others []string
		for i := range list.Items {
			found := verdict(&list.Items[i])
			if !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(found, text) }) {
				others = append(others, list.Items[i].Name+": "+found)
			}
		}
		return others, err
	}).Should(BeEmpty())
}

// isAbsent returns a function that reports whether an object does not exist. It ends a poll if the operator has ended.
func isAbsent(ctx context.Context, o client.Object) func() (bool, error) {
	return func() (bool, error) {
		if err := operator.alive(); err != nil {
			return false, err
		}
		err := admin.Get(ctx, client.ObjectKeyFromObject(o), o)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
}

const settings = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {level: "{{ .Values.level }}"}}`

// createGood creates the component of the good tenant.
func createGood(ctx context.Context) {
	GinkgoHelper()
	newNamespace(ctx, good)
	bind(ctx, good, "edit", accountIn(good, account))
	c := newComponent(good, "shop", map[string]string{"settings.yaml": settings})
	c.Spec.Values = &runtime.RawExtension{Raw: []byte(`{"level":0}`)}
	Expect(admin.Create(ctx, c)).To(Succeed())
}

// expectGoodServed changes the component of the good tenant, and waits until the change is applied.
func expectGoodServed(ctx context.Context) {
	GinkgoHelper()
	level++
	changed := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"values":{"level":%d}}}`, level))
	Expect(admin.Patch(ctx, &v1alpha1.Component{ObjectMeta: named(good, "shop")}, changed)).To(Succeed())
	Eventually(ctx, status(ctx, good, "shop")).Should(HavePrefix("Ready Ready: "))
	applied := &corev1.ConfigMap{}
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: good, Name: "settings"}, applied)).To(Succeed())
	Expect(applied.Data).To(HaveKeyWithValue("level", strconv.Itoa(level)))
}
