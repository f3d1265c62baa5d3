package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
)

func TestBadUsageIsOneLineAndCode2(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--bogus"}, "fairlead-operator: flag provided but not defined: -bogus; --help lists the flags\n"},
		{[]string{"run"}, "fairlead-operator: unexpected argument \"run\"; --help lists the flags\n"},
		{
			[]string{"--max-concurrent-reconciles=0"},
			"fairlead-operator: --max-concurrent-reconciles=0: want 1 or more; --help lists the flags\n",
		},
		{
			[]string{"--rate-limit=10"},
			"fairlead-operator: invalid value \"10\" for flag -rate-limit: want a number of passes and a period, such as " +
				"10/1m; --help lists the flags\n",
		},
		{
			[]string{"--rate-limit=0/1m"},
			"fairlead-operator: invalid value \"0/1m\" for flag -rate-limit: want a number of passes and a period, such as " +
				"10/1m; --help lists the flags\n",
		},
		{
			[]string{"--max-concurrent-writes=-1"},
			"fairlead-operator: --max-concurrent-writes=-1: want 1 or more; --help lists the flags\n",
		},
		{
			[]string{"--max-rendered-bytes=-1"},
			"fairlead-operator: --max-rendered-bytes=-1: want 1 or more; --help lists the flags\n",
		},
		{
			[]string{"--max-status-inventory-bytes=0"},
			"fairlead-operator: --max-status-inventory-bytes=0: want 1 or more; --help lists the flags\n",
		},
		{
			[]string{"--max-status-inventory-bytes=262145"},
			"fairlead-operator: --max-status-inventory-bytes=262145: want 262144 or less; --help lists the flags\n",
		},
		{
			[]string{"--default-service-account=a:b"},
			"fairlead-operator: --default-service-account=a:b: want the name of a service account; --help lists the flags\n",
		},
		{
			[]string{"--webhook-advertise-ip=10.0.0.1"},
			"fairlead-operator: --webhook-advertise-ip=10.0.0.1: it needs --webhook-bind-address; --help lists the flags\n",
		},
		{
			[]string{"--webhook-advertise-ip=pod", "--webhook-bind-address=:9443"},
			"fairlead-operator: --webhook-advertise-ip=pod: want the IP address of the pod; --help lists the flags\n",
		},
		{
			[]string{"--webhook-advertise-ip=0.0.0.0", "--webhook-bind-address=:9443"},
			"fairlead-operator: --webhook-advertise-ip=0.0.0.0: want the IP address of the pod; --help lists the flags\n",
		},
		{
			[]string{"--webhook-advertise-ip=10.0.0.1", "--webhook-bind-address=:0"},
			"fairlead-operator: --webhook-bind-address=:0: --webhook-advertise-ip needs a port number; --help lists the flags\n",
		},
		{[]string{"--observe=all"}, "fairlead-operator: --observe=all: \"all\" is none of \"cluster\", \"namespaces\" and " +
			"\"identity\"; --help lists the flags\n"},
		{[]string{"--observe=namespaces"}, "fairlead-operator: --observe=namespaces: name the namespaces with " +
			"--observe-namespaces; --help lists the flags\n"},
		{
			[]string{"--observe=identity", "--observe-namespaces=a,b"},
			"fairlead-operator: --observe-namespaces=a,b: it needs --observe=namespaces; --help lists the flags\n",
		},
		{
			[]string{"--observe=namespaces", "--observe-namespaces=a,a"},
			"fairlead-operator: --observe-namespaces=a,a: namespace \"a\" is named twice; --help lists the flags\n",
		},
		{
			[]string{"--observe=namespaces", "--observe-namespaces=a, b"},
			"fairlead-operator: --observe-namespaces=a, b: \" b\" is no name of a namespace: " +
				validation.IsDNS1123Label(" b")[0] + "; --help lists the flags\n",
		},
		{[]string{"--observe=all", "--observe-namespaces=a"}, "fairlead-operator: --observe=all: \"all\" is none of " +
			"\"cluster\", \"namespaces\" and \"identity\"; --help lists the flags\n"},
		{
			[]string{"--own-deployment=operator"},
			"fairlead-operator: --own-deployment=operator: want namespace/name; --help lists the flags\n",
		},
		{[]string{"--tracing-endpoint=collector:4318"}, "fairlead-operator: --tracing-endpoint=collector:4318: want a URL " +
			"such as http://collector:4318; --help lists the flags\n"},
		{
			[]string{"--events-address=http://me:hidden@events.example.com/#hidden", "--max-concurrent-writes=0"},
			"fairlead-operator: --max-concurrent-writes=0: want 1 or more; --events-address: want a URL without user and " +
				"password; want a URL without a fragment (#); --help lists the flags\n",
		},
		{
			[]string{"--events-address=notification-controller"},
			"fairlead-operator: --events-address: want a URL such as " +
				"http://notification-controller.flux-system.svc.cluster.local; --help lists the flags\n",
		},
		{
			[]string{"--tracing-sampling-ratio=2"},
			"fairlead-operator: --tracing-sampling-ratio=2: want a number from 0 to 1; --help lists the flags\n",
		},
		{[]string{"--metrics-cert-path=/nowhere"}, "fairlead-operator: --metrics-cert-path=/nowhere: want a folder with " +
			"tls.crt and tls.key: open /nowhere/tls.crt: no such file or directory; --help lists the flags\n"},
		{
			[]string{"--metrics-cert-path=/nowhere", "--metrics-secure=false"},
			"fairlead-operator: --metrics-cert-path=/nowhere: it needs --metrics-secure; --help lists the flags\n",
		},
		{
			[]string{"--leader-election-namespace=x"},
			"fairlead-operator: --leader-election-namespace=x: it needs --leader-elect; --help lists the flags\n",
		},
		{
			[]string{"--allow-address=10.1.2.3/8", "--deny-address=example.com", "--allow-address=::ffff:10.0.0.1"},
			"fairlead-operator: --allow-address: \"10.1.2.3/8\": the range begins at another address: write 10.0.0.0/8, or the " +
				"address alone; --allow-address: \"::ffff:10.0.0.1\": write it as IPv4: 10.0.0.1; --deny-address: " +
				"\"example.com\": want an address such as 10.1.2.3 or fd00::1, or a range such as 10.0.0.0/8; --help lists " +
				"the flags\n",
		},
		{
			[]string{"--allow-address=10.0.0.0/8", "--deny-address=10.0.0.0/8"},
			"fairlead-operator: 10.0.0.0/8 is both allowed and denied: remove one of the two; --help lists the flags\n",
		},
		{[]string{"--zap-log-level=loud"}, "fairlead-operator: invalid value \"loud\" for flag -zap-log-level: invalid " +
			"log level \"loud\"; --help lists the flags\n"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			g := NewWithT(t)
			var stdout, stderr bytes.Buffer
			g.Expect(run(c.args, &stdout, &stderr)).To(Equal(exitBadUsage))
			g.Expect(stderr.String()).To(Equal(c.want))
			g.Expect(stdout.String()).To(BeEmpty())
		})
	}
}

func TestHelpListsTheFlags(t *testing.T) {
	g := NewWithT(t)
	var stdout, stderr bytes.Buffer
	g.Expect(run([]string{"--help"}, &stdout, &stderr)).To(Equal(0))
	for _, name := range []string{
		"--kubeconfig\n", "--leader-elect\n", "--max-concurrent-reconciles\n",
		"--zap-log-level\n", "(default :8081)\n",
	} {
		g.Expect(stdout.String()).To(ContainSubstring(name))
	}
	g.Expect(stderr.String()).To(BeEmpty())
}

func TestVersionIsPrinted(t *testing.T) {
	g := NewWithT(t)
	var stdout, stderr bytes.Buffer
	g.Expect(run([]string{"--version"}, &stdout, &stderr)).To(Equal(0))
	g.Expect(stdout.String()).To(Equal("dev\n"))
}

func TestAMissingKubeconfigIsNamed(t *testing.T) {
	g := NewWithT(t)
	var stdout, stderr bytes.Buffer
	g.Expect(run([]string{"--kubeconfig=/nowhere/kubeconfig"}, &stdout, &stderr)).To(Equal(exitFailed))
	g.Expect(stderr.String()).
		To(Equal("fairlead-operator: find the cluster: stat /nowhere/kubeconfig: no such file or directory\n"))
}

func TestTheChartPassesFlagsThatTheOperatorKnows(t *testing.T) {
	g := NewWithT(t)
	chart, err := helm.New(os.DirFS("../../config/chart"), helm.Options{AnnotationPrefix: operator.ReconcilerName})
	g.Expect(err).NotTo(HaveOccurred())
	objects, err := chart.Generate(t.Context(), generator.Request{
		Name: "fairlead-operator", Namespace: operatorNamespace, Revision: 1,
		Capabilities: generator.Capabilities{Version: version.Info{GitVersion: "v1.36.3"}},
	})
	g.Expect(err).NotTo(HaveOccurred())
	var deployment appsv1.Deployment
	for _, object := range objects {
		if data, ok := object.(*unstructured.Unstructured); ok && data.GetKind() == "Deployment" {
			g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(data.Object, &deployment)).To(Succeed())
		}
	}
	g.Expect(deployment.Spec.Template.Spec.Containers).To(HaveLen(1))
	got, err := parseOptions(deployment.Spec.Template.Spec.Containers[0].Args)
	g.Expect(err).NotTo(HaveOccurred())

	// All other options have their defaults, so the defaults in the chart are correct.
	want, err := parseOptions([]string{
		"--leader-elect", "--leader-election-namespace=" + operatorNamespace,
		"--default-service-account=fairlead", "--own-deployment=fairlead-system/fairlead-operator",
	})
	g.Expect(err).NotTo(HaveOccurred())
	got.zap, want.zap = zap.Options{}, zap.Options{}
	g.Expect(got).To(Equal(want))
}

func TestTheAdvertisedAddressHasTheIPOfThePodAndThePortOfCalls(t *testing.T) {
	for _, c := range []struct{ bound, ip, want string }{
		{":9443", "10.0.0.1", "10.0.0.1:9443"},
		{"[::]:9443", "fd00::1", "[fd00::1]:9443"},
		{"0.0.0.0:1", "::ffff:10.0.0.1", "10.0.0.1:1"},
		{":9443", "", "invalid AddrPort"},
	} {
		got, err := webhookOptions{address: c.bound, ip: c.ip}.advertised()
		if err != nil || got.String() != c.want {
			t.Errorf("%s at %s: %s, %v, want %s", c.ip, c.bound, got, err, c.want)
		}
	}
}
