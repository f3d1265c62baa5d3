package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/operator"
)

// operate runs the operator for the components of a namespace until the spec ends or stop is called.
func operate(namespace string) (stop func()) {
	GinkgoHelper()
	mgr, err := ctrl.NewManager(kube.Config(), ctrl.Options{
		Scheme: k8s.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, GracefulShutdownTimeout: new(5 * time.Second),
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(operator.Setup(mgr, operator.Options{SkipNameValidation: true})).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(done)
		Expect(mgr.Start(ctx)).To(Succeed())
	}()
	stop = func() {
		cancel()
		<-done
	}
	DeferCleanup(stop)
	return stop
}

// applied applies a folder as the component "shop", and waits until the operator has reconciled the component.
func applied(ctx context.Context, namespace string, args ...string) {
	GinkgoHelper()
	r := fairlead(ctx, namespace, append([]string{"apply", "shop"}, args...)...)
	Expect(r.Err).To(BeEmpty())
	Expect(r.Code).To(Equal(0))
	Eventually(ctx, func() string {
		c := shopIn(ctx, namespace)
		ready := meta.FindStatusCondition(c.Status.Conditions, metav1alpha1.ConditionReady)
		if ready == nil || c.Status.ObservedGeneration != c.Generation {
			return ""
		}
		return string(ready.Status) + " " + ready.Message
	}).Should(HavePrefix("True"))
}

// gaps matches the spaces between columns. Their number depends on the length of names.
var gaps = regexp.MustCompile(`(\S)  +`)

// expectGolden compares an output with a file of testdata. The file contains NAMESPACE in place of the spec's
// namespace.
func expectGolden(file, namespace, output string) {
	GinkgoHelper()
	output = strings.ReplaceAll(output, namespace, "NAMESPACE")
	if filepath.Ext(file) == ".txt" {
		output = gaps.ReplaceAllString(output, "$1  ")
	}
	path := filepath.Join("testdata", file)
	if *update {
		Expect(os.MkdirAll(filepath.Dir(path), 0o700)).To(Succeed())
		Expect(os.WriteFile(path, []byte(output), 0o600)).To(Succeed())
	}
	want, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	Expect(output).To(Equal(string(want)))
}
