package faults_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/test/gadget"
)

const (
	reconciler = "faults.test.fairlead.io"
	// runAsOperator is an environment variable with a namespace. If it is set, the test binary runs as an operator that
	// serves this namespace.
	runAsOperator = "FAIRLEAD_TEST_RUN_AS_OPERATOR"
)

// operate runs the operator for the gadgets of a namespace.
func operate(ctx context.Context, config *rest.Config, namespace string) error {
	return operateOptions(ctx, config, namespace, component.Options{})
}

func operateOptions(ctx context.Context, config *rest.Config, namespace string, o component.Options) error {
	scheme, err := gadget.Scheme()
	if err != nil {
		return err
	}
	config.QPS = -1
	mgr, err := newManager(config, namespace, scheme)
	if err != nil {
		return err
	}
	o = withTestDefaults(o)
	r := component.NewReconciler[*gadget.Gadget](reconciler, generator.GeneratorFunc(generate), o)
	if err := r.SetupWithManager(mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// generate returns the manifests of a gadget. If the gadget has the parameter asked, generate asks for the export of
// this name, and returns a ConfigMap with its value, too. For the reference to an export of another gadget, it also
// returns a ConfigMap with the value.
func generate(ctx context.Context, req generator.Request) ([]client.Object, error) {
	objects, err := gadget.Generate(ctx, req)
	if err != nil {
		return nil, err
	}
	add := func(name, value string) {
		objects = append(objects, &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"value": value},
		})
	}
	if name, _ := req.Parameters["asked"].(string); name != "" {
		if value, ok := req.Exports.Value(name); ok {
			add("asked", fmt.Sprint(value))
		}
	}
	for of, data := range req.References {
		if of.Name == giverName {
			add(readerName, string(data[givenValue]))
		}
	}
	return objects, nil
}

// newManager returns a manager that serves a namespace.
func newManager(config *rest.Config, namespace string, scheme *runtime.Scheme) (ctrl.Manager, error) {
	return ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, GracefulShutdownTimeout: new(5 * time.Second),
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	})
}

// withTestDefaults sets the options that all operators of the scenarios share.
func withTestDefaults(o component.Options) component.Options {
	o.Dependents.Policies.Update, o.SkipNameValidation = metav1alpha1.UpdateSSAOverride, true
	// Errors that need a change are retried well before the test times out.
	o.Intervals.Retry = 2 * time.Second
	return o
}

// operatorMain is the main function of an operator that runs as a separate process.
func operatorMain() int {
	ctrl.SetLogger(zap.New())
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	ctx, namespace := ctrl.SetupSignalHandler(), os.Getenv(runAsOperator)
	world, clouds := os.Getenv(worldOfOperator), os.Getenv(cloudsOfOperator)
	switch {
	case err != nil:
	case clouds != "":
		err = operateServed(ctx, config, namespace, clouds)
	case world != "":
		err = operateSources(ctx, config, namespace, world)
	default:
		err = operate(ctx, config, namespace)
	}
	_, _ = fmt.Fprintln(os.Stderr, err)
	return 1
}

// operateProcess returns a function that runs the operator as a separate process until the context ends, which kills
// the process. Its requests go through a relay in this process. The process gets additional environment variables.
func operateProcess(folder string, environment ...string) func(context.Context, *rest.Config, string) error {
	return func(ctx context.Context, config *rest.Config, namespace string) error {
		relay, err := startRelay(config)
		if err != nil {
			return err
		}
		defer relay.Close()
		kubeconfig := filepath.Join(folder, namespace+".kubeconfig")
		if err := clientcmd.WriteToFile(clientcmdapi.Config{
			Clusters:       map[string]*clientcmdapi.Cluster{"relay": {Server: relay.URL}},
			Contexts:       map[string]*clientcmdapi.Context{"relay": {Cluster: "relay"}},
			CurrentContext: "relay",
		}, kubeconfig); err != nil {
			return err
		}
		output, err := os.OpenFile(filepath.Join(folder, namespace+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer func() { _ = output.Close() }()
		command := exec.CommandContext(ctx, os.Args[0]) // The process is killed when the context ends.
		command.Env = append(os.Environ(), runAsOperator+"="+namespace, "KUBECONFIG="+kubeconfig)
		command.Env = append(command.Env, environment...)
		command.Stdout, command.Stderr = output, output
		err = command.Run()
		relay.CloseClientConnections()
		return errors.Join(err, ctx.Err())
	}
}

// startRelay forwards requests with the injected faults. If a request gets no response, the relay closes the connection
// without a response.
func startRelay(config *rest.Config) (*httptest.Server, error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	return httptest.NewServer(&httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		ErrorLog:     log.New(io.Discard, "", 0), // Errors of interrupted watches are expected.
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}), nil
}

func eventually(t *testing.T, try func() error) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
