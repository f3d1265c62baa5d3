package logging_test

import (
	"bytes"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/fairlead-io/fairlead/internal/logging"
)

const marker = "hunter2-in-a-body"

// client returns a client of an API server that echoes the bodies of requests.
func client(t *testing.T) kubernetes.Interface {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var secret = &corev1.Secret{
	TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
	ObjectMeta: metav1.ObjectMeta{Name: "login"}, StringData: map[string]string{"password": marker},
}

// logger returns a logger of all levels, and its output.
func logger() (logr.Logger, *bytes.Buffer) {
	var out bytes.Buffer
	return funcr.New(func(prefix, args string) { out.WriteString(prefix + args + "\n") },
		funcr.Options{Verbosity: 99}), &out
}

func TestNoBodiesAtAnyLevel(t *testing.T) {
	all, out := logger()
	create := func(l logr.Logger) string {
		out.Reset()
		requests := logr.NewContext(t.Context(), l)
		if _, err := client(t).CoreV1().Secrets("apps").Create(requests, secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if log := create(all); !strings.Contains(log, marker) {
		t.Errorf("client-go logs no bodies any more, so this test proves nothing:\n%s", log)
	}
	limited := logging.WithoutBodies(all)
	for _, l := range []logr.Logger{
		limited, limited.V(0), limited.WithName("a"), limited.WithValues("a", "b"), limited.WithCallDepth(1),
		logging.WithoutBodies(limited).WithName("b").WithValues("c", "d").V(1),
	} {
		if log := create(l); strings.Contains(log, marker) {
			t.Errorf("the log has the content of a Secret:\n%s", log)
		}
	}
}

func TestTheLoggerOfAContextIsLimited(t *testing.T) {
	all, out := logger()
	ctx := logging.Into(t.Context(), all)
	logr.FromContextOrDiscard(ctx).V(7).Info("shown")
	logr.FromContextOrDiscard(ctx).V(8).Info("hidden")
	ctx = logging.Context(logr.NewContext(t.Context(), all.WithName("own")))
	logr.FromContextOrDiscard(ctx).Error(io.EOF, "failed")
	logr.FromContextOrDiscard(ctx).V(9).Info("hidden")
	if log := out.String(); !strings.Contains(log, "shown") || !strings.Contains(log, "own") ||
		!strings.Contains(log, "failed") || strings.Contains(log, "hidden") {
		t.Errorf("the log must have the messages up to level 7 only:\n%s", log)
	}
	if logger := logging.WithoutBodies(logr.Logger{}); !logger.IsZero() {
		t.Error("a logger without a sink must stay empty")
	}
}

func TestALevelThatContextsCannotLimitIsAnError(t *testing.T) {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	t.Cleanup(func() {
		klog.EnableContextualLogging(true)
		_ = flags.Set("v", "0")
	})
	if err := flags.Set("v", "9"); err != nil {
		t.Fatal(err)
	}
	if err := logging.Check(logging.Context(t.Context())); err != nil {
		t.Errorf("the context limits the level of klog, but Check returns %v", err)
	}
	klog.EnableContextualLogging(false)
	if err := logging.Check(logging.Context(t.Context())); err == nil {
		t.Error("klog logs bodies, but Check returns no error")
	}
}
