package engine_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead-io/fairlead/test/testcluster"
)

func TestTheExampleAppliesWaitsUpdatesAndDeletes(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(time.Minute)
	cluster := testcluster.StartFor(t, testcluster.Options{Nodes: 1})
	mgr, err := ctrl.NewManager(cluster.Config(), ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	g.Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	g.Expect(setUpPages(ctx, mgr)).To(Succeed())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() {
		stop()
		g.Expect(<-ended).To(Succeed())
	}()
	k8s, err := client.New(cluster.Config(), client.Options{})
	g.Expect(err).NotTo(HaveOccurred())

	key := client.ObjectKey{Namespace: "default", Name: "home"}
	page := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: map[string]string{"page": "hello"},
	}
	g.Expect(k8s.Create(ctx, page)).To(Succeed())
	web, service := &appsv1.Deployment{}, &corev1.Service{}
	g.Eventually(func() error { return k8s.Get(ctx, key, service) }).Should(Succeed())
	g.Eventually(func() (int32, error) {
		return web.Status.ReadyReplicas, k8s.Get(ctx, key,
			web)
	}).Should(BeEquivalentTo(1))
	g.Expect(k8s.Get(ctx, key, page)).To(Succeed())
	g.Expect(page.Finalizers).To(ConsistOf("pages.example.com/finalizer"))

	g.Expect(k8s.Patch(ctx, page, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"page":"bye"}}`)))).
		To(Succeed())
	g.Eventually(func() (string, error) {
		err := k8s.Get(ctx, key, web)
		return web.Spec.Template.Spec.Containers[0].Env[0].Value, err
	}).Should(Equal("bye"))

	g.Expect(k8s.Delete(ctx, page)).To(Succeed())
	g.Eventually(func() error { return k8s.Get(ctx, key, page) }).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
	g.Expect(k8s.Get(ctx, key, web)).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
	g.Expect(k8s.Get(ctx, key, service)).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
	secrets := &corev1.SecretList{}
	g.Expect(k8s.List(ctx, secrets, client.InNamespace(key.Namespace))).To(Succeed())
	g.Expect(secrets.Items).To(BeEmpty(), "the inventory must disappear with the dependents")
}
