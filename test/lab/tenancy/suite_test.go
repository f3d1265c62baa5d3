// Package tenancy_test attacks an operator that has the rights and flags of the chart's defaults, as a tenant who may
// write components in his own namespaces only. After each attack the operator's process is still the same, the changed
// component of another tenant becomes Ready, and the attack has gained nothing.
package tenancy_test

import (
	"context"
	"errors"
	"flag"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/test/program"
	"github.com/fairlead-io/fairlead/test/repeat"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

const root = "../../.."

// These flags run the attacks against another version of the programs:
// go test ./test/lab/tenancy -operator PATH -checkout FOLDER -ginkgo.focus 'title'.
var (
	operatorFlag  = flag.String("operator", "", "the program of the operator; by default it is built")
	checkoutFlag  = flag.String("checkout", root, "the folder with config/chart of the same version")
	functionsFlag = flag.String("functions", allFunctions, "the functions of templates that are attacked")
	enginesFlag   = flag.String("engines", allEngines, "the engines that are attacked")
	memoryFlag    = flag.Uint64("memory", operatorMemory, "the memory of the operator in bytes")
	eachFlag      = flag.Bool("each", false, "attack each engine with each function alone, too")
)

var (
	cluster *testcluster.Cluster
	scheme  *runtime.Scheme
	admin   client.Client
	// operator is the running operator.
	operator *process
	// mallory is the tenant who attacks.
	mallory client.Client
	// malloryUser contains the credentials of mallory.
	malloryUser testcluster.User
)

func TestTenancy(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	RegisterFailHandler(Fail)
	// The timeout is long because the machine may be busy.
	SetDefaultEventuallyTimeout(2 * time.Minute)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	repeat.Specs(t, "Tenancy")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	folder = GinkgoT().TempDir()
	buildPrograms(ctx)
	cluster = testcluster.StartFor(GinkgoTB(), testcluster.Options{Audit: true})
	scheme = runtime.NewScheme()
	Expect(errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))).To(Succeed())
	admin = clientOf(cluster.Config())
	Expect(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system}})).To(Succeed())
	installChart(ctx)
	var err error
	malloryUser, err = cluster.User(ctx, malloryName)
	Expect(err).NotTo(HaveOccurred())
	mallory = clientOf(malloryUser.Config)
	createGood(ctx)
	operator = startOperator(ctx)
	DeferCleanup(func() { operator.stop() })
}, NodeTimeout(10*time.Minute))

// buildPrograms builds the tested programs, unless flags name them.
func buildPrograms(ctx context.Context) {
	GinkgoHelper()
	if *operatorFlag != "" {
		return
	}
	programs, err := filepath.Abs(filepath.Join(root, "bin", "e2e"))
	Expect(err).NotTo(HaveOccurred())
	Expect(program.Build(ctx, root, programs+"/", "./cmd/fairlead-operator")).To(Succeed())
	*operatorFlag = filepath.Join(programs, "fairlead-operator")
}

// unharmed registers the checks that follow each attack: the operator is the process that the attack began with, or
// that the attack itself restarted, and a change of the good tenant is applied.
func unharmed() {
	BeforeEach(func(ctx SpecContext) {
		if operator.ended() {
			operator = startOperator(ctx)
		}
	})
	AfterEach(func(ctx SpecContext) {
		DeferCleanup(reportOperator)
		operator.expectAlive()
		expectGoodServed(ctx)
	}, NodeTimeout(3*time.Minute))
}
