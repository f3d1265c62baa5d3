// Package e2e_test runs the operator's real program under its own identity, and checks only the state and the audit log
// of the API server.
package e2e_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/repeat"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// reconciler is the name of the operator's reconciler.
const reconciler = "fairlead.io"

var (
	cluster  *testcluster.Cluster
	admin    client.WithWatch
	sequence atomic.Int64
)

func TestEndToEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(2 * time.Minute)
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	repeat.Specs(t, "End to end")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	log.SetLogger(zap.New(zap.WriteTo(GinkgoWriter)))
	buildOperator(ctx)
	cluster = testcluster.StartFor(GinkgoTB(), testcluster.Options{Audit: true, NoControllers: true})
	scheme, err := gadget.Scheme()
	Expect(err).NotTo(HaveOccurred())
	Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	admin, err = client.NewWithWatch(cluster.Config(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	Expect(config.Install(ctx, admin)).To(Succeed())
	identity, err = cluster.User(ctx, operatorUser, "system:serviceaccounts", "system:serviceaccounts:fairlead-system")
	Expect(err).NotTo(HaveOccurred())
	definitions, err := manifests.Decode("crd.yaml", gadget.CRD)
	Expect(err).NotTo(HaveOccurred())
	for _, definition := range definitions {
		Expect(admin.Create(ctx, definition)).To(Succeed())
	}
	Eventually(ctx, func() error { return admin.List(ctx, &gadget.GadgetList{}) }).Should(Succeed())
}, NodeTimeout(10*time.Minute))

// newNamespace creates a namespace for a spec.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	name := fmt.Sprintf("spec-%d", sequence.Add(1))
	Expect(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	return name
}

// newComponent returns a component whose source is one file of templates. It is not created yet.
func newComponent(namespace, name, templates, values string) *v1alpha1.Component {
	return &v1alpha1.Component{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.ComponentSpec{
			Source: v1alpha1.Source{Inline: &v1alpha1.InlineSource{Files: map[string]string{"templates.yaml": templates}}},
			Values: &runtime.RawExtension{Raw: []byte(values)},
		},
	}
}

// condition returns the condition Ready as "Status Reason: Message", if it is for the current generation.
func condition(o client.Object, status metav1alpha1.Status) string {
	c := meta.FindStatusCondition(status.Conditions, metav1alpha1.ConditionReady)
	if c == nil || c.ObservedGeneration != o.GetGeneration() {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

// componentCondition returns a function that reads the condition Ready.
func componentCondition(ctx context.Context, c *v1alpha1.Component) func() (string, error) {
	return func() (string, error) {
		current := &v1alpha1.Component{}
		err := admin.Get(ctx, client.ObjectKeyFromObject(c), current)
		return condition(current, current.Status), err
	}
}
